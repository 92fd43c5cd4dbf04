// SPDX-License-Identifier: BSD-3-Clause
// Reductions over an axis, on many tiles: popops::reduceMany.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/reduce_cost.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/reduce_function.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// (outer, reduced, inner) -> (outer, inner): reduces the middle one of three axes, and multiplies the result with
/// `scale`. Partial results are float32.
/// With `samples`, which is possible for an outer of 1, the middle axis is a batch of so many samples, each of several
/// rows: those of samples that only fill the batch do not count, and a scale for all of them becomes one for the rest.
constexpr void append_reduce(lowered_step& step, reduce_function function, std::initializer_list<int> inputs,
                             int result, std::int64_t outer, std::int64_t reduced, std::int64_t inner, float scale = 1,
                             std::int64_t samples = 0) {
  step.add(axis_reduction{function, outer, reduced, inner, samples, scale}, inputs, {result});
}

}  // namespace stagecraft::tiles
