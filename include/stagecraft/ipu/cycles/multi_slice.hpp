// SPDX-License-Identifier: BSD-3-Clause
// Cycles of gathering rows by their numbers, and of writing them back: popops' MultiSlice and MultiUpdate.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Copies rows of `row_elements` elements, whose numbers are data: out of a table, or (`is_update`) into it. Of
/// `offsets` numbers, each worker finds `offsets_in_range` in the part of the table that it looks after.
///
/// Source: poplibs, lib/popops/PerformanceEstimation.cpp, getMultiSliceCycleEstimate.
struct multi_slice {
  dtype type = dtype::float32;
  std::int64_t row_elements = 0;
  std::int64_t offsets = 0;
  std::int64_t offsets_in_range = 0;  ///< offsets that the busiest worker finds
  bool is_update = false;
  bool indices_are_sorted = false;          ///< true: a worker searches for its own offsets and skips the others
  std::int64_t offsets_per_dict_entry = 1;  ///< offsets that name the same row; used only if sorted
  bool split_single_region = false;         ///< true: each worker copies a part of one row

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    int const bytes = size_of(type);
    int const width = bytes == 1 ? 4 : bytes == 2 ? 2 : target.vector_width(type);
    int const per_vector = bytes == 1 ? 3 : 2;
    std::int64_t vectors = detail::ceil_div(row_elements, width);
    if (split_single_region) vectors = detail::ceil_div(vectors, workers);
    std::int64_t worker = (is_update ? 29 : 30) + offsets_in_range * (19 + vectors * per_vector);
    if (indices_are_sorted)
      worker += 2 * detail::ceil_log2(offsets) * 10 + offsets_per_dict_entry * 15 + 9 + 20;
    else
      worker += 8 * (offsets - offsets_in_range);
    return worker * workers;
  }
};

}  // namespace stagecraft::vertices
