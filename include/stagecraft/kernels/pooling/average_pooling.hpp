// SPDX-License-Identifier: BSD-3-Clause
// The mean of each window, and its gradient, vectorised over channels. Keras counterpart:
// tf.keras.layers.AveragePooling2D and AveragePooling1D.
#pragma once

#include <stagecraft/kernels/pooling/pooling_shape.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

namespace detail {

/// The mean of the window's cells in `rows` and `columns`, or of all its cells if it is Inside the input, for Count
/// channels. `x` is the sample, `begin` the begin of the window in it, which may lie in the padding.
template <pooling_shape Shape, int Count, bool Inside, class Arch>
inline void mean_of_window(float const* x, std::int64_t begin, index_range rows, index_range columns, float* y) {
  if constexpr (Inside) {
    rows = {0, Shape.pool_height};
    columns = {0, Shape.pool_width};
  }
  batch<Arch> sum(0.0F);
#pragma GCC unroll 4
  for (int row = rows.first; row < rows.last; ++row) {
#pragma GCC unroll 4
    for (int column = columns.first; column < columns.last; ++column)
      sum = sum + load_lanes<Count, Arch>(x + begin + (row * Shape.width + column) * Shape.channels);
  }
  store_lanes<Count>(sum * batch<Arch>(1.0F / static_cast<float>(rows.size() * columns.size())), y);
}

/// One pixel of one sample's output: all channels.
template <pooling_shape Shape, bool Inside, class Arch>
inline void average_pooling_pixel(float const* x, std::int64_t begin, index_range const& rows,
                                  index_range const& columns, float* y) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  for (int channel = 0; channel < whole; channel += lanes<Arch>)
    mean_of_window<Shape, lanes<Arch>, Inside, Arch>(x, begin + channel, rows, columns, y + channel);
  if constexpr (whole < Shape.channels)
    mean_of_window<Shape, Shape.channels - whole, Inside, Arch>(x, begin + whole, rows, columns, y + whole);
}

}  // namespace detail

/// y = the mean of each window, channel by channel; cells in the padding do not count.
/// Items of `part`: rows of the output, of all samples.
template <int Batch, pooling_shape Shape, class Arch = default_architecture>
inline void average_pooling(float const* x, float* y, share part = {}) {
  constexpr int output_rows = Shape.output_height();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * output_rows);
  y += first * Shape.output_width() * Shape.channels;
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = x + item / output_rows * Shape.input_size();
    int const top = static_cast<int>(item % output_rows) * Shape.stride_height - Shape.top;
    auto const rows = detail::cells_of_window(top, Shape.pool_height, Shape.height);
    for (int output_column = 0; output_column < Shape.output_width(); ++output_column, y += Shape.channels) {
      int const left = output_column * Shape.stride_width - Shape.left;
      auto const columns = detail::cells_of_window(left, Shape.pool_width, Shape.width);
      std::int64_t const begin = (static_cast<std::int64_t>(top) * Shape.width + left) * Shape.channels;
      if (!Shape.has_padding() || (rows.size() == Shape.pool_height && columns.size() == Shape.pool_width))
        detail::average_pooling_pixel<Shape, true, Arch>(sample, begin, rows, columns, y);
      else
        detail::average_pooling_pixel<Shape, false, Arch>(sample, begin, rows, columns, y);
    }
  }
}

namespace detail {

/// dx = factor * dy in the window's cells in `columns` of one row of the input, for Count channels. Writes if no other
/// window contributes to these cells, else adds.
template <pooling_shape Shape, int Count, bool Adds, class Arch>
inline void average_pooling_gradient_of_window(float const* dy, batch<Arch> const& factor, index_range columns,
                                               float* dx) {
  using value = batch<Arch>;
  value const gradient = load_lanes<Count, Arch>(dy);
#pragma GCC unroll 4
  for (int column = columns.first; column < columns.last; ++column) {
    float* const cell = dx + column * Shape.channels;
    if constexpr (Adds)
      store_lanes<Count>(fused_multiply_add(factor, gradient, load_lanes<Count, Arch>(cell)), cell);
    else
      store_lanes<Count>(factor * gradient, cell);
  }
}

/// Adds the gradients of the windows of one row of the output, which have `window_rows` rows in the input, to one row
/// of the input.
template <pooling_shape Shape, bool Adds, class Arch>
inline void average_pooling_gradient_row(float const* dy, int window_rows, float* dx) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  for (int window = 0; window < Shape.output_width(); ++window, dy += Shape.channels) {
    int const left = window * Shape.stride_width - Shape.left;
    index_range const columns = Shape.left > 0 || Shape.right > 0 ? cells_of_window(left, Shape.pool_width, Shape.width)
                                                                  : index_range{0, Shape.pool_width};
    batch<Arch> const factor(1.0F / static_cast<float>(window_rows * columns.size()));
    float* const cells = dx + left * Shape.channels;
    for (int channel = 0; channel < whole; channel += lanes<Arch>)
      average_pooling_gradient_of_window<Shape, lanes<Arch>, Adds, Arch>(dy + channel, factor, columns,
                                                                         cells + channel);
    if constexpr (whole < Shape.channels)
      average_pooling_gradient_of_window<Shape, Shape.channels - whole, Adds, Arch>(dy + whole, factor, columns,
                                                                                    cells + whole);
  }
}

}  // namespace detail

/// dx (or dx +=, if Accumulate): each window's dy, divided equally among its cells.
/// Items of `part`: rows of the input, of all samples.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void average_pooling_gradient(float const* dy, float* dx, share part = {}) {
  constexpr int row_size = Shape.width * Shape.channels;
  constexpr int output_row_size = Shape.output_width() * Shape.channels;
  // True if a row of windows reaches each cell of a row once: then old values need not be read.
  constexpr bool writes_once = !Accumulate && !Shape.overlaps() && Shape.covers_width();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = dy + item / Shape.height * Shape.output_size();
    int const row = static_cast<int>(item % Shape.height);
    auto const windows =
        detail::windows_of_cell(row, Shape.top, Shape.pool_height, Shape.stride_height, Shape.output_height());
    float* const cells = dx + item * row_size;
    if (!Accumulate && !(writes_once && windows.size() > 0))
      std::memset(cells, 0, static_cast<std::size_t>(row_size) * sizeof(float));
    for (int window = windows.first; window < windows.last; ++window) {
      auto const rows =
          detail::cells_of_window(window * Shape.stride_height - Shape.top, Shape.pool_height, Shape.height);
      detail::average_pooling_gradient_row<Shape, !writes_once, Arch>(
          sample + static_cast<std::int64_t>(window) * output_row_size, rows.size(), cells);
    }
  }
}

}  // namespace stagecraft::kernels
