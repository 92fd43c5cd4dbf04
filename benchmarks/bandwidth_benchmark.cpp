// SPDX-License-Identifier: BSD-3-Clause
// What one core reads per second from its caches and from memory: the slopes of the roofline. Names: read/<where>.
#include <stagecraft/kernels/simd.hpp>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using namespace stagecraft::benchmarks;

/// Reads all floats, a multiple of 16 registers, and adds them up.
float read(float const* values, std::size_t size) {
  constexpr std::size_t registers = 16;
  constexpr std::size_t lanes = kernels::lanes<>;
  kernels::batch<> sums[registers];
  for (auto& sum : sums) sum = kernels::batch<>(0.0F);
  for (std::size_t i = 0; i < size; i += registers * lanes) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < registers; ++j)
      sums[j] = sums[j] + kernels::batch<>::load_aligned(values + i + j * lanes);
  }
  for (std::size_t j = 1; j < registers; ++j) sums[0] = sums[0] + sums[j];
  return kernels::horizontal_sum(sums[0]);
}

void add_read(std::string const& where, std::size_t bytes) {
  benchmark::RegisterBenchmark(("read/" + where).c_str(), [bytes](benchmark::State& state) {
    std::size_t const size = bytes / sizeof(float);
    aligned_floats values(size);
    for (auto _ : state) {
      benchmark::ClobberMemory();
      benchmark::DoNotOptimize(read(values.data(), size));
    }
    state.counters["bytes/s"] =
        benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate);
  });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  add_read("L1", 24U << 10U);
  add_read("L2", 512U << 10U);
  add_read("memory", 256U << 20U);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
