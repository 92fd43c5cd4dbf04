// SPDX-License-Identifier: BSD-3-Clause
// The sliding products behind convolutions and their input's gradients: every
// pixel of a result is the sum, over the taps that meet the source, of a row of
// channels times a packed matrix. Level 4 of the house; private to the kernels.
#pragma once

#include <stagecraft/kernels/gathered_tile.hpp>
#include <stagecraft/kernels/simd.hpp>
#include <stagecraft/kernels/tap_classes.hpp>

#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels::detail {

/// Where the floats of a tensor of pixels lie.
struct pixel_grid {
  std::int64_t sample = 0;
  std::int64_t row = 0;
  std::int64_t pixel = 0;
};

/// One correlation of `samples` samples: the axes and their classes, and the
/// distances in the source and the result. The filter's rows count (tap row,
/// tap column, channel).
struct correlation {
  int samples = 1;
  convolution_axis rows = {};
  convolution_axis columns = {};
  tap_class const *row_classes = nullptr;
  int row_class_count = 0;
  tap_class const *column_classes = nullptr;
  int column_class_count = 0;
  int channels = 1;
  pixel_grid source = {};
  pixel_grid result = {};
  /// The result's element of the first pixel.
  std::int64_t result_first = 0;

  /// Calls visit(row class, column class, pixels).
  template <class Visit>
  constexpr void for_each_class(Visit const &visit) const {
    for (int r = 0; r < row_class_count; ++r)
      for (int c = 0; c < column_class_count; ++c)
        visit(row_classes[r], column_classes[c],
              static_cast<std::int64_t>(samples) * row_classes[r].count *
                  column_classes[c].count);
  }

  /// Tiles of `height` pixels; a class's last one may have fewer.
  [[nodiscard]] constexpr std::int64_t tiles(int height) const {
    std::int64_t sum = 0;
    for_each_class(
        [&](tap_class const &, tap_class const &, std::int64_t pixels) {
          sum += (pixels + height - 1) / height;
        });
    return sum;
  }

  /// About how many half cycles all tiles of a panel take.
  [[nodiscard]] constexpr double cost(int height, int vectors) const {
    double const products = height * vectors;
    double const loads = height + vectors;
    double const step = products > loads ? products : loads;
    double sum = 0;
    for_each_class([&](tap_class const &row, tap_class const &column,
                       std::int64_t pixels) {
      double const steps =
          static_cast<double>(row.taps) * column.taps * channels;
      sum += static_cast<double>((pixels + height - 1) / height) *
             ((step > 8 ? step : 8) * steps + 2 * products + 40);
    });
    return sum;
  }
};

/// The height of the tiles: the least work, lost rows and what each tile costs
/// beside its products included.
template <class Arch, int Count>
[[nodiscard]] consteval int tile_height(correlation const (&parts)[Count],
                                        int vectors) {
  if (vectors == 0)
    return 1;
  int best = 1;
  double least = 0;
  for (int height = 1; height <= most_gathered_rows<Arch>(vectors); ++height) {
    double cost = 0;
    for (correlation const &part : parts)
      cost += part.cost(height, vectors);
    if (height > 1 && cost > least)
      continue;
    best = height;
    least = cost;
  }
  return best;
}

/// Tiles of all parts.
template <int Count>
[[nodiscard]] constexpr std::int64_t
all_tiles(correlation const (&parts)[Count], int height) {
  std::int64_t sum = 0;
  for (correlation const &part : parts)
    sum += part.tiles(height);
  return sum;
}

/// The most steps whose products are summed before the sums go to memory: what
/// a panel of the filter may take of the second-level cache.
inline constexpr int most_correlation_steps = 2048;

/// The pixels of one class, one after the other.
struct pixel_cursor {
  correlation const &shape;
  tap_class const &row;
  tap_class const &column;
  std::int64_t sample;
  int r;
  int c;

  pixel_cursor(correlation const &all, tap_class const &row_class,
               tap_class const &column_class, std::int64_t pixel)
      : shape(all), row(row_class), column(column_class),
        sample(pixel / column_class.count / row_class.count),
        r(static_cast<int>(pixel / column_class.count % row_class.count)),
        c(static_cast<int>(pixel % column_class.count)) {}

  /// Where the first tap, which may lie outside, would meet the source.
  [[nodiscard]] std::int64_t source() const {
    return sample * shape.source.sample +
           ((row.first + r) * shape.rows.stride + shape.rows.origin) *
               shape.source.row +
           ((column.first + c) * shape.columns.stride + shape.columns.origin) *
               shape.source.pixel;
  }
  [[nodiscard]] std::int64_t result() const {
    return shape.result_first + sample * shape.result.sample +
           (row.first + r) * shape.result.row +
           (column.first + c) * shape.result.pixel;
  }
  void advance() {
    if (++c < column.count)
      return;
    c = 0;
    if (++r < row.count)
      return;
    r = 0;
    ++sample;
  }
};

/// What becomes of the sums of a tile.
template <class Epilogue> struct correlation_output {
  float *result;
  /// Columns of the panel, and the number of the first.
  int columns;
  int first_column;
  /// Whether the sums are added to what the result holds.
  bool add;
  /// Whether they are complete.
  bool last;
  Epilogue const &epilogue;

  template <int Vectors, class Arch>
  void store(float const *sums, std::int64_t element) const {
    constexpr int width = lanes<Arch>;
    for (int j = 0; j < Vectors; ++j) {
      int const left = columns - j * width;
      int const count = left < width ? left : width;
      std::int64_t const at = element + j * width;
      batch<Arch> sum = batch<Arch>::load_aligned(sums + j * width);
      if (add)
        sum = sum + (count == width ? batch<Arch>::load_unaligned(result + at)
                                    : load_first<Arch>(result + at, count));
      if (last)
        sum = epilogue(sum, first_column + j * width, at);
      if (count == width)
        sum.store_unaligned(result + at);
      else
        store_first(sum, result + at, count);
    }
  }
};

/// Tiles [first, last) of a class; only tap rows [from_row, to_row) are summed.
template <int Height, int Vectors, int RightStep, class Arch, class Output>
void correlate_class(correlation const &shape, tap_class const &row,
                     tap_class const &column, int from_row, int to_row,
                     float const *source, float const *filter,
                     std::int64_t first, std::int64_t last,
                     Output const &output) {
  int const tap_row = row.tap > from_row ? row.tap : from_row;
  int const tap_end = row.tap + row.taps < to_row ? row.tap + row.taps : to_row;
  bool const merged =
      shape.columns.dilation == 1 && shape.source.pixel == shape.channels;
  step_runs runs;
  runs.rows = tap_row < tap_end ? tap_end - tap_row : 0;
  runs.columns = merged ? 1 : column.taps;
  runs.steps = merged ? column.taps * shape.channels : shape.channels;
  runs.left_row = shape.rows.dilation * shape.source.row;
  runs.left_column = shape.columns.dilation * shape.source.pixel;
  runs.right_column = static_cast<std::ptrdiff_t>(shape.channels) * RightStep;
  runs.right_row = shape.columns.taps * runs.right_column;
  source += tap_row * runs.left_row + column.tap * runs.left_column;
  filter += tap_row * runs.right_row + column.tap * runs.right_column;

  std::int64_t const pixels =
      static_cast<std::int64_t>(shape.samples) * row.count * column.count;
  pixel_cursor cursor(shape, row, column, first * Height);
  for (std::int64_t tile = first; tile < last; ++tile) {
    int const height = pixels - tile * Height < Height
                           ? static_cast<int>(pixels - tile * Height)
                           : Height;
    float const *left[Height];
    std::int64_t element[Height];
    for (int i = 0; i < Height; ++i) {
      left[i] = source + cursor.source();
      element[i] = cursor.result() + output.first_column;
      if (i + 1 < height)
        cursor.advance();
    }
    cursor.advance();
    alignas(64) float sums[Height * Vectors * lanes<Arch>];
    gathered_tile<Height, Vectors, 1, RightStep, Arch>(left, filter, runs,
                                                       sums);
    for (int i = 0; i < height; ++i)
      output.template store<Vectors, Arch>(sums + i * Vectors * lanes<Arch>,
                                           element[i]);
  }
}

/// Tiles [first, last) of a panel; `filter` is the panel.
template <int Height, int Vectors, int RightStep, class Arch, class Epilogue>
void correlate(correlation const &shape, float const *source,
               float const *filter, std::int64_t first, std::int64_t last,
               correlation_output<Epilogue> output) {
  int const row_steps = shape.columns.taps * shape.channels;
  int const rows_at_once = row_steps * shape.rows.taps <= most_correlation_steps
                               ? shape.rows.taps
                           : row_steps >= most_correlation_steps
                               ? 1
                               : most_correlation_steps / row_steps;
  bool const add = output.add;
  int from_row = 0;
  do {
    int const to_row = from_row + rows_at_once;
    output.add = add || from_row > 0;
    output.last = to_row >= shape.rows.taps;
    std::int64_t begin = 0;
    shape.for_each_class([&](tap_class const &row, tap_class const &column,
                             std::int64_t pixels) {
      std::int64_t const tiles = (pixels + Height - 1) / Height;
      std::int64_t const from = first > begin ? first - begin : 0;
      std::int64_t const to = last - begin < tiles ? last - begin : tiles;
      if (from < to)
        correlate_class<Height, Vectors, RightStep, Arch>(
            shape, row, column, from_row, to_row, source, filter, from, to,
            output);
      begin += tiles;
    });
    from_row = to_row;
  } while (from_row < shape.rows.taps);
}

} // namespace stagecraft::kernels::detail
