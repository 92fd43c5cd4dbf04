// SPDX-License-Identifier: BSD-3-Clause
// The micro-kernel of the depthwise convolutions: each lane is a channel of its own. Private to the kernels.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/correlation.hpp>
#include <stagecraft/kernels/convolution/gathered_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::kernels::detail {

/// Pixels of a tile.
inline constexpr int channel_tile_rows = 8;

/// Calls finish(i, sum) for every i in [0, Rows) with the sum over all steps of left[i][offset of the step's left
/// factor
/// + lane] * right[offset of its right factor + lane]. Unless Whole, only `count` lanes of the right factor are read.
template <int Rows, bool Whole, class Arch, class Finish>
[[gnu::noinline]] void channel_tile(float const* const* left, std::ptrdiff_t channel, float const* right,
                                    [[maybe_unused]] int count, step_runs const& runs, Finish finish) {
  float const* row[Rows];
  batch<Arch> sum[Rows][1];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i] + channel;
    sum[i][0] = batch<Arch>(0.0F);
  }
  for (int r = 0; r < runs.rows; ++r)
    for (int c = 0; c < runs.columns; ++c) {
      std::ptrdiff_t at = r * runs.left_row + c * runs.left_column;
      float const* from = right + channel + r * runs.right_row + c * runs.right_column;
      for (int s = 0; s < runs.steps; ++s, at += runs.left_step, from += runs.right_step) {
        keep_in_register(at);
        batch<Arch> factor;
        if constexpr (Whole)
          factor = load_once<Arch>(from);
        else
          factor = load_first<Arch>(from, count);
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i)
          sum[i][0] = fused_multiply_add(batch<Arch>::load_unaligned(row[i] + at), factor, sum[i][0]);
      }
    }
  for_each_sum<Rows, 1>([&](auto i, auto) __attribute__((always_inline)) { finish(i, batch<Arch>(sum[i][0])); });
}

/// The shape whose channels are repeated so that there are as many as filters.
template <convolution_shape Shape>
inline constexpr convolution_shape repeated_channels = [] {
  convolution_shape shape = Shape;
  shape.channels = shape.filters;
  shape.groups = shape.filters;
  return shape;
}();

/// to[pixel * row + f] = from[pixel * channels + f / multiplier].
inline void repeat_channels(float const* from, int pixels, int channels, int multiplier, float* to) {
  for (int i = 0; i < pixels * channels; ++i)
    for (int m = 0; m < multiplier; ++m) *to++ = from[i];
}

/// The begin of a correlation's kernel, and its steps from tap to tap.
struct channel_kernel {
  float const* first;
  std::ptrdiff_t row;
  std::ptrdiff_t column;
};

/// Tiles [first, last) of the correlation of one sample. Calls finish(i, channel, valid lanes, element, sum) for every
/// register of a pixel, and then finish_tile(pixels, elements).
template <class Arch, class Finish, class FinishTile>
void correlate_channels(correlation const& shape, int channels, float const* source, channel_kernel const& kernel,
                        std::int64_t first, std::int64_t last, Finish const& finish, FinishTile const& finish_tile) {
  constexpr int height = channel_tile_rows;
  std::int64_t begin = 0;
  shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
    std::int64_t const tiles = (pixels + height - 1) / height;
    std::int64_t const from = first > begin ? first - begin : 0;
    std::int64_t const to = last - begin < tiles ? last - begin : tiles;
    begin += tiles;
    if (from >= to) return;
    step_runs runs;
    runs.rows = row.taps;
    runs.columns = column.taps;
    runs.steps = 1;
    runs.left_row = shape.rows.dilation * shape.source.row;
    runs.left_column = shape.columns.dilation * shape.source.pixel;
    runs.right_row = kernel.row;
    runs.right_column = kernel.column;
    float const* const left_first = source + row.tap * runs.left_row + column.tap * runs.left_column;
    float const* const right = kernel.first + row.tap * kernel.row + column.tap * kernel.column;
    pixel_cursor cursor(shape, row, column, from * height);
    for (std::int64_t tile = from; tile < to; ++tile) {
      std::int64_t const pixels_left = pixels - tile * height;
      int const rows = pixels_left < height ? static_cast<int>(pixels_left) : height;
      float const* left[height];
      std::int64_t element[height];
      for (int i = 0; i < height; ++i) {
        left[i] = left_first + cursor.source;
        element[i] = cursor.result;
        if (i + 1 < rows) cursor.advance();
      }
      cursor.advance();
      int channel = 0;
      for (; channel + lanes<Arch> <= channels; channel += lanes<Arch>)
        channel_tile<height, true, Arch>(left, channel, right, lanes<Arch>, runs, [&](int i, batch<Arch> const& sum) {
          if (i < rows) finish(i, channel, lanes<Arch>, element[i] + channel, sum);
        });
      if (int const rest = channels - channel; rest > 0)
        channel_tile<height, false, Arch>(left, channel, right, rest, runs, [&](int i, batch<Arch> const& sum) {
          if (i < rows) finish(i, channel, rest, element[i] + channel, sum);
        });
      finish_tile(rows, element);
    }
  });
}

}  // namespace stagecraft::kernels::detail
