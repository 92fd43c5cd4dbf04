// SPDX-License-Identifier: BSD-3-Clause
// What the benchmarks have in common: counters, the number of threads of a run, and the machine's limits, which every
// program measures beside its own benchmarks.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>

#include "bandwidth.hpp"
#include "fma_peak.hpp"

namespace stagecraft::benchmarks {

/// Threads that all libraries of this process may use: OMP_NUM_THREADS, else 1. One run measures one number of threads,
/// since libraries choose their primitives by it.
inline int threads_of_this_run() {
  char const* const text = std::getenv("OMP_NUM_THREADS");
  int const threads = text != nullptr ? std::atoi(text) : 1;
  return threads < 1 ? 1 : threads;
}

/// Floating-point operations of one iteration, as a rate.
inline void count_operations(benchmark::State& state, double operations) {
  state.counters["FLOP/s"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

/// What an iteration must read and write at least, and how much of the latter lies where it has been read.
inline void count_bytes(benchmark::State& state, double read, double written, double written_in_place = 0) {
  state.counters["bytes read"] = read;
  state.counters["bytes written"] = written;
  if (written_in_place > 0) state.counters["bytes written in place"] = written_in_place;
}

/// Operations, and the bytes of operands and results that an iteration must touch.
inline void count_operations(benchmark::State& state, double operations, double read, double written) {
  count_operations(state, operations);
  count_bytes(state, read, written);
  state.counters["FLOP/byte"] = operations / (read + written);
}

/// Multiply-adds of one core without any memory, as a benchmark `fma_peak`.
inline void add_fma_peak() {
  benchmark::RegisterBenchmark("fma_peak", [](benchmark::State& state) {
    std::int64_t steps = 100'000;
    for (auto _ : state) {
      benchmark::DoNotOptimize(steps);  // else one computation serves all iterations
      benchmark::DoNotOptimize(multiply_add_chains(steps));
    }
    count_operations(state, multiply_add_operations(steps));
  });
}

/// All that one core is limited by.
inline void add_limits() {
  add_fma_peak();
  add_bandwidths();
}

}  // namespace stagecraft::benchmarks
