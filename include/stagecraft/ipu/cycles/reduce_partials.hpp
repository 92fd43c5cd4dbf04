// SPDX-License-Identifier: BSD-3-Clause
// Cycles of adding up the partial sums of a matrix product or convolution on one tile: poplin's ReduceAdd.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <bit>
#include <cstdint>

namespace stagecraft::vertices {

/// Adds `depth` partial sums for each of `outputs` outputs, which all workers share.
/// - Several inputs, the general way: the partial sums lie where they were put, one pointer each.
/// - `single_input`, faster: all but one lie behind each other, and the last where it was computed, in the output's
///   place. Possible if `outputs` is a multiple of 4 (float32 partial sums) or 8 (float16).
/// A depth of 1 is a cast if the types differ, and nothing otherwise.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getReduceCycleEstimate, estimateConvReduceCycles (whose
/// single-input depth is one less) and estimateCastCycles.
struct reduce_partials {
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t outputs = 0;
  std::int64_t depth = 0;
  bool single_input = false;
  bool interleaved = false;  ///< a single input in interleaved memory is loaded twice as fast

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    if (depth < 1 || outputs == 0) return 0;
    if (depth == 1) return is_float(partials) == is_float(output) ? 0 : cast_cycles(target);
    return single_input ? single_input_cycles(target) : several_inputs_cycles(target);
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return depth < 1 ? 0 : outputs * (depth - 1); }

 private:
  [[nodiscard]] static constexpr bool is_float(dtype type) noexcept { return type != dtype::float16; }
  /// Elements that are added at once.
  [[nodiscard]] constexpr int width() const noexcept { return is_float(partials) ? 4 : 8; }

  [[nodiscard]] constexpr std::int64_t cast_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const each = detail::ceil_div(outputs, workers);
    auto const loads = detail::ceil_div(each, target.vector_width(partials));
    auto const stores = detail::ceil_div(each, target.vector_width(output));
    return (detail::larger(loads, stores) + 26) * workers;
  }
  [[nodiscard]] constexpr std::int64_t single_input_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    int const loaded = target.vector_width(partials) * (interleaved ? 2 : 1);
    std::int64_t const per_vector = width() / detail::smaller(width(), loaded);
    std::int64_t const vectors = detail::ceil_div(outputs / width(), workers);
    int const overhead = is_float(partials) ? (is_float(output) ? 8 : 7) : (is_float(output) ? 10 : 9);
    return (20 + (per_vector * (depth - 1) + overhead) * vectors) * workers + 33;
  }
  [[nodiscard]] constexpr std::int64_t several_inputs_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const per_vector = width() / detail::smaller(width(), target.vector_width(partials)) + 1;
    auto const remainder = static_cast<unsigned>(outputs % width());
    std::int64_t const loops = outputs / width() + std::popcount(remainder);
    std::int64_t full_loops = loops / workers;
    std::int64_t cycles = 32;
    if (loops % workers != 0) {
      if (remainder != 0)
        cycles += 2 * depth + (is_float(partials) ? 13 : 11);  // the last round is a shorter one
      else
        ++full_loops;
    }
    int const overhead = (is_float(partials) ? 6 : 8) + (is_float(output) ? 1 : 0);
    return (cycles + (per_vector * depth + overhead) * full_loops) * workers;
  }
};

}  // namespace stagecraft::vertices
