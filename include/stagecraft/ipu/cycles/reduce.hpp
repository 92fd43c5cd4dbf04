// SPDX-License-Identifier: BSD-3-Clause
// Cycles of reductions on one tile: of the partial sums of a matrix product or convolution (poplin's ReduceAdd), of
// runs of memory to one number each (popops' Reduce, specialised as SCALAR_OUTPUT_SINGLE_INPUT and
// ALL_REGIONS_CONTINUOUS), and of the rows of one matrix (STRIDED_REDUCE).
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <bit>
#include <cstdint>

namespace stagecraft::vertices {

/// The operation that joins two elements: popops' Operation.
enum class reduce_operation : unsigned char { add, square_add, mul, max, min, logical_and, logical_or, log_add };

/// Floating point operations per element that is reduced. Source: poplibs, CycleEstimationFunctions.cpp.
[[nodiscard]] constexpr int flops_of(reduce_operation operation) noexcept {
  switch (operation) {
    case reduce_operation::square_add: return 2;
    case reduce_operation::logical_and:
    case reduce_operation::logical_or: return 0;
    case reduce_operation::log_add: return 6;
    default: return 1;
  }
}

}  // namespace stagecraft::vertices

namespace stagecraft::tiles {

[[nodiscard]] constexpr bool uses_accumulators(vertices::reduce_operation operation) noexcept {
  return operation == vertices::reduce_operation::add || operation == vertices::reduce_operation::square_add;
}
/// Elements that a reduction takes at once: as many as the accumulators hold, or as a load brings.
[[nodiscard]] constexpr int reduction_width(vertices::reduce_operation operation, dtype partials,
                                            ipu_target const& target) noexcept {
  if (uses_accumulators(operation)) return partials == dtype::float16 ? 8 : 4;
  return target.vector_width(partials);
}

}  // namespace stagecraft::tiles

namespace stagecraft::vertices {

/// Adds `depth` partial sums for each of `outputs` outputs, which all workers share.
/// - Several inputs, the general case: a pointer for each of the partial sums, which may lie anywhere.
/// - `single_input` is faster: all but one lie one after the other, and the last lies in the output's place, where it
///   was computed. `outputs` must be a multiple of 4 (float32 partial sums) or 8 (float16).
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

/// Reduces each of `outputs` runs of `elements` elements, which lie one after the other, to one number. A vertex of one
/// worker.
///
/// Source: poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp, getCyclesEstimateForSingleInput for one output,
/// getCycleEstimateReduceAllRegionsContinuous for several.
struct reduce_to_scalar {
  reduce_operation operation = reduce_operation::add;
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t outputs = 1;
  std::int64_t elements = 0;
  bool is_update = false;  ///< the result is added to what was there

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    int const loaded = target.data_path_width / (8 * size_of(partials));
    int const width = detail::reduction_width(operation, partials, target);
    std::int64_t const per_operation = operation == reduce_operation::log_add ? 20 : 1;
    if (outputs != 1) {
      std::int64_t const vectors =
          elements / (operation == reduce_operation::log_add ? 1 : detail::smaller(width, loaded));
      return 7 + 10 + (is_update ? 1 : 0) + (elements % 2 != 0 ? 2 : 0) + outputs * (12 + per_operation * vectors);
    }
    std::int64_t const per_loop = detail::larger(width / detail::smaller(width, loaded), per_operation);
    return 3 + 6 + per_loop * elements / width + 5 + elements % width + 3 + (output == dtype::float16 ? 5 : 0);
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return outputs * (elements + (is_update ? 1 : 0) - 1) * flops_of(operation);
  }
};

/// Reduces the rows of one matrix in memory to one row: output i is the reduction of elements i, i + stride,
/// i + 2 stride... A vertex of one worker, for add, max, min and log_add; other operations count as max.
///
/// Source: poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp, getCyclesEstimateForStridedReduce.
struct strided_reduce {
  reduce_operation operation = reduce_operation::add;
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t outputs = 0;
  std::int64_t depth = 1;          ///< rows
  std::int64_t stride = 0;         ///< elements from row to row; 0: `outputs`
  std::int64_t outer_strides = 1;  ///< matrices that are reduced to the same row
  bool is_update = false;          ///< the result is added to what was there

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    if (outputs == 0) return 16;
    bool const is_log_add = operation == reduce_operation::log_add;
    std::int64_t const per_operation = !is_log_add ? 1 : partials == dtype::float16 ? 13 : 23;
    std::int64_t const per_loop =
        detail::greatest_common_divisor(detail::smaller(detail::reduction_width(operation, partials, target),
                                                        target.data_path_width / (8 * size_of(partials))),
                                        stride == 0 ? outputs : stride);
    return 16 + detail::ceil_div(outputs, per_loop) *
                    (3 + store_cycles() + outer_strides * (3 + per_operation * (depth - 1)));
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return outputs * (depth * outer_strides + (is_update ? 1 : 0) - 1) * flops_of(operation);
  }

 private:
  [[nodiscard]] constexpr std::int64_t store_cycles() const noexcept {
    bool const is_add = operation == reduce_operation::add;
    bool const is_log_add = operation == reduce_operation::log_add;
    bool const stores_half = output == dtype::float16;
    if (partials == dtype::float16) {
      if (!is_update) return 1 + (is_add && !stores_half ? 6 : 7);
      if (is_log_add) return 1 + (stores_half ? 22 : 56);
      return 1 + (!is_add ? 10 : stores_half ? 9 : 11);
    }
    std::int64_t const end = is_add ? 3 : 2;
    if (!is_update) return end + 2;
    if (is_log_add) return end + (stores_half ? 13 : 27);
    return end + (stores_half ? 4 : 5);
  }
};

}  // namespace stagecraft::vertices
