// SPDX-License-Identifier: BSD-3-Clause
// The limit that loops over much data are held against: what one core reads from, copies within, or changes in place in
// each of its caches and memory.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "aligned_floats.hpp"

namespace stagecraft::benchmarks {

/// Reads all floats, a multiple of 16 registers. Their bits are joined, for which there are more units than for sums.
[[nodiscard]] inline float read_all(float const* values, std::size_t size) {
  constexpr std::size_t registers = 16;
  constexpr std::size_t lanes = kernels::lanes<>;
  kernels::batch<> sums[registers];
  for (auto& sum : sums) sum = kernels::batch<>(0.0F);
  for (std::size_t i = 0; i < size; i += registers * lanes) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < registers; ++j)
      sums[j] = sums[j] | kernels::batch<>::load_aligned(values + i + j * lanes);
  }
  for (std::size_t j = 1; j < registers; ++j) sums[0] = sums[0] + sums[j];
  return kernels::horizontal_sum(sums[0]);
}

/// Copies all floats, a multiple of 4 registers.
inline void copy_all(float const* from, float* to, std::size_t size) {
  constexpr std::size_t lanes = kernels::lanes<>;
  for (std::size_t i = 0; i < size; i += 4 * lanes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j)
      kernels::batch<>::load_aligned(from + i + j * lanes).store_aligned(to + i + j * lanes);
  }
}

/// Changes the signs of all floats where they lie, a multiple of 4 registers: a line that is written has been read.
inline void change_all(float* values, std::size_t size) {
  constexpr std::size_t lanes = kernels::lanes<>;
  kernels::batch<> const sign(-0.0F);
  for (std::size_t i = 0; i < size; i += 4 * lanes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j)
      (kernels::batch<>::load_aligned(values + i + j * lanes) ^ sign).store_aligned(values + i + j * lanes);
  }
}

/// A place for data, and how much of it is read, copied or changed there.
struct memory_level {
  std::string name;
  std::size_t bytes;
};

/// L1, L2 and so on, half of what one core has of each of them, and memory: four times the last, but no more than
/// 128 MiB.
[[nodiscard]] inline std::vector<memory_level> memory_levels() {
  std::vector<memory_level> levels;
  std::size_t largest = 16U << 20U;
  for (auto const& cache : benchmark::CPUInfo::Get().caches) {
    if (cache.type == "Instruction" || cache.size <= 0) continue;
    auto const size = static_cast<std::size_t>(cache.size);
    levels.push_back({"L" + std::to_string(cache.level),
                      size / static_cast<std::size_t>(2 * std::max(cache.num_sharing, 1)) / 4096 * 4096});
    largest = std::max(largest, size);
  }
  levels.push_back({"memory", std::min<std::size_t>(4 * largest, 128U << 20U)});
  return levels;
}

/// Benchmarks read/<level>, copy/<level> and change/<level>, in bytes that are read and written.
inline void add_bandwidths() {
  for (auto const& level : memory_levels()) {
    auto const add = [bytes = level.bytes](std::string const& name, int times, auto run) {
      benchmark::RegisterBenchmark(name.c_str(), [bytes, times, run](benchmark::State& state) {
        std::size_t const size = bytes / sizeof(float);
        aligned_floats values(size);
        for (auto _ : state) {
          run(values.data(), size);
          benchmark::ClobberMemory();
        }
        state.counters["bytes/s"] =
            benchmark::Counter(times * static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate);
      });
    };
    add("read/" + level.name, 1,
        [](float const* values, std::size_t size) { benchmark::DoNotOptimize(read_all(values, size)); });
    add("copy/" + level.name, 1,
        [](float* values, std::size_t size) { copy_all(values, values + size / 2, size / 2); });
    add("change/" + level.name, 2, [](float* values, std::size_t size) { change_all(values, size); });
  }
}

}  // namespace stagecraft::benchmarks
