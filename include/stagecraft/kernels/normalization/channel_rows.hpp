// SPDX-License-Identifier: BSD-3-Clause
// Sums over the rows of a row-major matrix, one for each channel (column), and functions of rows and numbers per
// channel: the parts of the normalizations.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// Rows of `Channels` floats in registers. Rows that are much shorter than a register are taken in groups that fill
/// whole registers, so that each lane still belongs to one channel: a group's floats are its *columns*.
template <int Channels, class Arch = default_architecture>
struct channel_rows {
  static constexpr int width = lanes<Arch>;
  /// Rows of a group.
  static constexpr int group = [] {
    if (Channels >= 4 * width) return 1;
    int const power_of_two = Channels & -Channels;
    int rows = power_of_two >= width ? 1 : width / power_of_two;
    while (Channels * rows < 4 * width) rows *= 2;
    return rows;
  }();
  static constexpr int columns = Channels * group;
  static constexpr int vectors = (columns + width - 1) / width;
  static constexpr int last_lanes = columns - (vectors - 1) * width;
  /// Floats of an array with one number per channel. Whole registers of it are read and written.
  static constexpr int channel_floats = (Channels + 15) / 16 * 16;
  /// Floats of an array with one number per column. A register after them may be read and written, too.
  static constexpr int column_floats = (vectors * width + width + 15) / 16 * 16;
  /// Work is divided at multiples of `granule` rows, where a group and a cache line begin.
  static constexpr int granule = [] {
    int rows = group;
    while (rows * Channels % 16 != 0) rows *= 2;
    return rows;
  }();

  /// sums[s * column_floats + column] += term s of all rows. `term(sum, column, values...)` adds to the batches
  /// sum[Sums], given the first of a batch's columns and the values of each x there.
  template <int Sums, class Term, std::same_as<float const*>... Inputs>
  static void add_sums(std::int64_t rows, Term const& term, float* sums, Inputs... x) {
    constexpr int whole_blocks = (vectors - 1) / block;
    for (int i = 0; i < whole_blocks; ++i)
      add_block<block, width, Sums>(rows / group, i * block * width, term, sums, x...);
    add_block<vectors - whole_blocks * block, last_lanes, Sums>(rows / group, whole_blocks * block * width, term, sums,
                                                                x...);
    // The rows after the last whole group.
    if (int const rest = static_cast<int>(rows % group) * Channels; rest > 0) {
      std::int64_t const from = rows / group * columns;
      for (int column = 0; column < rest; column += width) {
        int const count = rest - column < width ? rest - column : width;
        batch<Arch> sum[Sums];
        for (int s = 0; s < Sums; ++s) sum[s] = batch<Arch>(0.0F);
        term(sum, column, load_first<Arch>(x + from + column, count)...);
        for (int s = 0; s < Sums; ++s) {
          float* const to = sums + s * column_floats + column;
          (batch<Arch>::load_unaligned(to) + keep_first(sum[s], count)).store_unaligned(to);
        }
      }
    }
  }

  /// The sums of a group's columns, one per channel. Returns `channels`, or `by_column` if its columns are the
  /// channels.
  static float const* fold(float const* by_column, float* channels) {
    if constexpr (group == 1) return by_column;
    for (int channel = 0; channel < Channels; channel += width) {
      batch<Arch> sum[2] = {batch<Arch>::load_unaligned(by_column + channel),
                            batch<Arch>::load_unaligned(by_column + Channels + channel)};
      for (int row = 2; row < group; row += 2) {
        sum[0] = sum[0] + batch<Arch>::load_unaligned(by_column + row * Channels + channel);
        sum[1] = sum[1] + batch<Arch>::load_unaligned(by_column + (row + 1) * Channels + channel);
      }
      (sum[0] + sum[1]).store_unaligned(channels + channel);
    }
    return channels;
  }

  /// Repeats numbers per channel for each row of a group. Returns `by_column`, or `channels` if these are the columns.
  static float const* spread(float const* channels, float* by_column) {
    if constexpr (group == 1) return channels;
    for (int row = 0; row < group; ++row)
      for (int channel = 0; channel < Channels; channel += width)
        batch<Arch>::load_unaligned(channels + channel).store_unaligned(by_column + row * Channels + channel);
    return by_column;
  }

  /// y = function(column, batches of x...) for this thread's share of the rows, or function(column, element, batches of
  /// x...) if it takes the place in y, too. `function` reads what it needs of arrays per column by itself.
  template <class Function, std::same_as<float const*>... Inputs>
  static void transform_rows(std::int64_t rows, Function const& function, float* y, share part, Inputs... x) {
    auto const [first, last] = part.of(rows, granule);
    std::int64_t at = first * Channels;
    auto const apply = [&](int column, auto const&... values) {
      if constexpr (std::invocable<Function const&, int, std::int64_t, decltype(values)...>)
        return function(column, at + column, values...);
      else
        return function(column, values...);
    };
    for (std::int64_t row = first; row + group <= last; row += group, at += columns) {
#pragma GCC unroll 8
      for (int j = 0; j + 1 < vectors; ++j)
        apply(j * width, batch<Arch>::load_unaligned(x + at + j * width)...).store_unaligned(y + at + j * width);
      constexpr int j = vectors - 1;
      store_lanes<last_lanes>(apply(j * width, load_lanes<last_lanes, Arch>(x + at + j * width)...),
                              y + at + j * width);
    }
    int const rest = static_cast<int>(last * Channels - at);
    for (int column = 0; column < rest; column += width) {
      int const count = rest - column < width ? rest - column : width;
      store_first<Arch>(apply(column, load_first<Arch>(x + at + column, count)...), y + at + column, count);
    }
  }

 private:
  static constexpr int block = has_avx512<Arch> ? 8 : 4;  // registers of each sum at once

  template <int Vectors, int LastLanes, int Sums, class Term, class... Inputs>
  static void add_block(std::int64_t groups, int column, Term const& term, float* sums, Inputs... x) {
    batch<Arch> sum[Vectors][Sums];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j)
#pragma GCC unroll 2
      for (int s = 0; s < Sums; ++s)
        sum[j][s] = batch<Arch>::load_unaligned(sums + s * column_floats + column + j * width);
    std::int64_t at = column;
    for (std::int64_t row = 0; row < groups; ++row, at += columns) {
#pragma GCC unroll 8
      for (int j = 0; j + 1 < Vectors; ++j)
        term(sum[j], column + j * width, batch<Arch>::load_unaligned(x + at + j * width)...);
      constexpr int j = Vectors - 1;
      term(sum[j], column + j * width, load_lanes<LastLanes, Arch>(x + at + j * width)...);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j)
#pragma GCC unroll 2
      for (int s = 0; s < Sums; ++s) sum[j][s].store_unaligned(sums + s * column_floats + column + j * width);
  }
};

/// The division of `Rows` rows for sums over them: into items, which threads share, and these into chunks, which stay
/// in the first-level cache. The cut depends on shapes only, so sums have the same bits for any number of threads. An
/// item has at least 16384 floats, and there are at most 32.
template <int Rows, int Channels, class Arch = default_architecture>
struct channel_items {
  using layout = channel_rows<Channels, Arch>;
  static constexpr int chunk_rows = [] {
    constexpr int step = Channels < 64 ? 64 : 16;  // whole granules of every architecture
    int const rows = 8192 / Channels / step * step;
    return rows < step ? step : rows;
  }();
  static_assert(chunk_rows % channel_rows<Channels, Arch>::granule == 0);
  static constexpr int item_rows = [] {
    int const chunks = (Rows + chunk_rows - 1) / chunk_rows;
    int const per_item = (chunks + 31) / 32;
    return (per_item < 4 ? 4 : per_item) * chunk_rows;
  }();
  /// The number of items of all rows; fewer rows have fewer items, cut at the same places.
  static constexpr int count = (Rows + item_rows - 1) / item_rows;
  /// Floats for two numbers per channel and item.
  static constexpr long long partial_floats = 2LL * count * layout::channel_floats;

  [[nodiscard]] static constexpr std::int64_t of_rows(std::int64_t rows) { return (rows + item_rows - 1) / item_rows; }
  [[nodiscard]] static constexpr std::int64_t rows_of(std::int64_t item, std::int64_t rows) {
    std::int64_t const left = rows - item * item_rows;
    return left < item_rows ? left : item_rows;
  }
};

/// The sums of all items' sums: `sums` holds two arrays of numbers per channel.
template <int Rows, int Channels, class Arch = default_architecture>
inline void add_item_sums(float const* partial, std::int64_t rows, float* sums) {
  using layout = channel_rows<Channels, Arch>;
  using value = batch<Arch>;
  std::memset(sums, 0, sizeof(float) * 2 * layout::channel_floats);
  for (std::int64_t item = 0; item < channel_items<Rows, Channels, Arch>::of_rows(rows); ++item)
    transform<Arch>(
        2 * layout::channel_floats, [](value const& a, value const& b) { return a + b; }, sums,
        static_cast<float const*>(sums), partial + 2 * item * layout::channel_floats);
}

}  // namespace stagecraft::kernels
