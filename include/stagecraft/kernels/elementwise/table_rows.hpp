// SPDX-License-Identifier: BSD-3-Clause
// Reads of a table's rows by indices.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// Whole numbers, each of which names a row of a table of `rows` rows, `width` floats each.
struct table_indices {
  /// Rows that are prefetched ahead, since processors do not guess where the next one lies.
  static constexpr std::int64_t rows_ahead = 6;

  float const* indices = nullptr;
  std::int64_t count = 0, rows = 0, width = 1;
  bool are_whole = false;  ///< true if the indices are int32, by their bits

  /// The row that index k names; -1 if there is none with this number.
  [[nodiscard]] std::int64_t row(std::int64_t k) const {
    float const index = indices[k];
    if (are_whole) {
      auto const whole = std::bit_cast<std::int32_t>(index);
      return whole >= 0 && whole < rows ? whole : -1;
    }
    return index >= 0 && index < static_cast<float>(rows) ? static_cast<std::int64_t>(index) : -1;
  }
  /// Prefetches the row of `table` that index k names, which is read or (if `Writes`) changed soon.
  template <bool Writes>
  [[gnu::always_inline]] inline void prefetch(float const* table, std::int64_t k) const {
    constexpr std::int64_t line = 16, most_lines = 16;
    std::int64_t const named = k < count ? row(k) : -1;
    if (named < 0) return;
    float const* const begin = table + named * width;
    std::int64_t const end = std::min(width, line * most_lines);
    for (std::int64_t i = 0; i < end; i += line) __builtin_prefetch(begin + i, Writes ? 1 : 0);
  }
};

/// y = the rows that the indices name, one after the other; zeros for an index that names none.
template <class Arch = default_architecture>
inline void read_rows(table_indices const& of, float const* table, float* y) {
  constexpr int lane_count = lanes<Arch>;
  std::int64_t const width = of.width;
  if (width < 4)  // pixels, whose table is small
    for (std::int64_t k = 0; k < of.count; ++k, y += width) {
      std::int64_t const row = of.row(k);
      for (std::int64_t i = 0; i < width; ++i) y[i] = row < 0 ? 0.0F : table[row * width + i];
    }
  if (width < 4) return;
  for (std::int64_t k = 0; k < table_indices::rows_ahead; ++k) of.prefetch<false>(table, k);
  for (std::int64_t k = 0; k < of.count; ++k, y += width) {
    of.prefetch<false>(table, k + table_indices::rows_ahead);
    std::int64_t const row = of.row(k);
    if (row < 0) {
      std::memset(y, 0, static_cast<std::size_t>(width) * sizeof(float));
      continue;
    }
    float const* const x = table + row * width;
    std::int64_t i = 0;
    for (; i + 4 * lane_count <= width; i += 4 * lane_count) {
      batch<Arch> moved[4];
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) moved[part] = batch<Arch>::load_unaligned(x + i + part * lane_count);
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) moved[part].store_unaligned(y + i + part * lane_count);
    }
    if (i < width) std::memcpy(y + i, x + i, static_cast<std::size_t>(width - i) * sizeof(float));
  }
}

}  // namespace stagecraft::kernels
