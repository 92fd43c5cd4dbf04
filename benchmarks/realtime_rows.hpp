// SPDX-License-Identifier: BSD-3-Clause
// How the programs of small networks are timed: what they are given, and what is counted.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "aligned_floats.hpp"
#include "allocation/counted_memory.hpp"

namespace stagecraft::benchmarks {

/// A signal that repeats. Each sample begins at a cache line, and zeros follow it up to the next one: some peers read
/// whole registers.
template <std::size_t Inputs>
class samples {
 public:
  samples() : values_(count * stride, 0.0F) {
    unsigned state = 1;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < Inputs; ++k)
        values_.data()[i * stride + k] =
            static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  }
  [[nodiscard]] float const* operator[](std::size_t i) const { return values_.data() + i % count * stride; }

 private:
  static constexpr std::size_t count = 256, stride = (Inputs + 15) / 16 * 16;
  aligned_floats values_;
};

/// A network that has been checked: its weights as Keras has them, and what it makes of the first calls' samples.
struct network_row {
  std::string name;
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> results;
};
inline constexpr std::size_t checked_calls = 100;

/// Ends the program unless another program gives the same results but for rounding.
template <std::size_t Inputs, class Program>
void check(network_row const& row, char const* whose, Program& program) {
  samples<Inputs> const x;
  for (std::size_t i = 0; i < row.results.size(); ++i) {
    float const* const found = program.call(x[i]);
    for (std::size_t k = 0; k < row.results[i].size(); ++k)
      if (!(std::fabs(row.results[i][k] - found[k]) < 1e-4F)) {
        std::fprintf(stderr, "%s, %s: sample %zu: %g, expected %g\n", row.name.c_str(), whose, i,
                     static_cast<double>(found[k]), static_cast<double>(row.results[i][k]));
        std::exit(1);
      }
  }
}

template <std::size_t Inputs, class Program>
void time_calls(benchmark::State& state, Program& program) {
  samples<Inputs> const x;
  std::size_t i = 0;
  long const before = allocations();
  for (auto _ : state) {
    benchmark::DoNotOptimize(program.call(x[i++]));
    benchmark::ClobberMemory();
  }
  state.counters["allocations/step"] = static_cast<double>(allocations() - before) / static_cast<double>(i);
  // What one call in a thousand takes at least: each is timed, which takes some 20 ns by itself.
  std::vector<double> each(20000);
  for (double& nanoseconds : each) {
    auto const begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(program.call(x[i++]));
    benchmark::ClobberMemory();
    nanoseconds = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }
  auto const late = each.end() - static_cast<std::ptrdiff_t>(each.size() / 1000);
  std::nth_element(each.begin(), late, each.end());
  state.counters["p99.9"] = *late * 1e-9;
}

/// Registers the row of a program, which stays as long as this one runs.
template <std::size_t Inputs, class Program>
void add_program(network_row const& row, char const* whose, Program& program) {
  benchmark::RegisterBenchmark(("realtime/" + row.name + "/" + whose).c_str(),
                               [&program](benchmark::State& state) { time_calls<Inputs>(state, program); });
}

}  // namespace stagecraft::benchmarks
