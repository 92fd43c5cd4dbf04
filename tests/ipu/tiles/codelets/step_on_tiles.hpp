// SPDX-License-Identifier: BSD-3-Clause
// Carries out a step of one operation on few tiles, and compares what was counted with what it should cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <utility>
#include <vector>
#include "run_on_tiles.hpp"

namespace tests {

struct step_on_tiles {
  stagecraft::tiles::lowered_step step;
  stagecraft::ipu_target target;
  std::vector<std::vector<float>> values{};

  explicit step_on_tiles(int tiles) : target(target_of(tiles)) {}

  int add(stagecraft::tiles::tensor_role role, std::int64_t elements,
          stagecraft::dtype type = stagecraft::dtype::float32) {
    values.emplace_back(static_cast<std::size_t>(elements));
    return step.tensor(role, step.tensor_count, type, elements);
  }
  std::vector<float>& operator[](int tensor) { return values[static_cast<std::size_t>(tensor)]; }

  /// Whole numbers, which float16 holds, too.
  void fill(int tensor, std::mt19937& random, int least = -8, int most = 8) {
    for (auto& value : (*this)[tensor])
      value = static_cast<float>(std::uniform_int_distribution<int>(least, most)(random));
  }

  /// `run(machine, operation)` carries out the step's only operation; `cost` is what it should take.
  template <class Run>
  void run(Run const& run, stagecraft::tiles::operation_cost const& cost) {
    auto result = run_on_tiles(step, target, values, run, {}, cost.temporary_bytes);
    values = std::move(result.tensors);
    if (cost.temporary_bytes > 0)
      CHECK(stagecraft::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + cost.temporary_bytes);
    auto const& counted = result.counted;
    CHECK(counted.compute_cycles == cost.compute_cycles);
    CHECK(counted.exchange_cycles == cost.exchange_cycles);
    CHECK(counted.sync_cycles == cost.sync_cycles);
    CHECK(counted.flops == cost.flops);
    CHECK(counted.bytes_exchanged == cost.bytes_exchanged);
    CHECK(counted.exchanges == cost.exchanges);
    CHECK(counted.compute_sets == cost.compute_sets);
  }
};

}  // namespace tests
