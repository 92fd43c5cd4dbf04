// SPDX-License-Identifier: BSD-3-Clause
// Everything about a pooling layer but the batch size, as one compile-time value.
#pragma once

#include <cstdint>

namespace stagecraft::kernels {

/// Windows over one sample, channels last: input (height, width, channels), output (output_height(), output_width(),
/// channels). A sequence is an image of height 1. `top` to `right` are cells around the input that never count.
struct pooling_shape {
  int height = 1, width = 1, channels = 1;
  int pool_height = 1, pool_width = 1;
  int stride_height = 1, stride_width = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int output_height() const noexcept {
    return (top + height + bottom - pool_height) / stride_height + 1;
  }
  [[nodiscard]] constexpr int output_width() const noexcept {
    return (left + width + right - pool_width) / stride_width + 1;
  }
  [[nodiscard]] constexpr bool has_padding() const noexcept { return top > 0 || left > 0 || bottom > 0 || right > 0; }
  [[nodiscard]] constexpr bool overlaps() const noexcept {
    return stride_height < pool_height || stride_width < pool_width;
  }
  /// True if each column of the input is in a window.
  [[nodiscard]] constexpr bool covers_width() const noexcept {
    return stride_width <= pool_width && (output_width() - 1) * stride_width + pool_width >= left + width;
  }
  /// Cells of a window.
  [[nodiscard]] constexpr int pool_area() const noexcept { return pool_height * pool_width; }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * channels; }
  /// Bytes that hold a cell's number within its window, counted row by row.
  [[nodiscard]] constexpr int position_bytes() const noexcept {
    return pool_area() <= 1 << 8 ? 1 : pool_area() <= 1 << 16 ? 2 : 4;
  }

  friend constexpr bool operator==(pooling_shape const&, pooling_shape const&) = default;
};

namespace detail {

template <int Bytes>
struct unsigned_of_size {
  using type = std::uint8_t;
};
template <>
struct unsigned_of_size<2> {
  using type = std::uint16_t;
};
template <>
struct unsigned_of_size<4> {
  using type = std::uint32_t;
};

}  // namespace detail

/// A cell's number within its window.
template <pooling_shape Shape>
using pooling_position = typename detail::unsigned_of_size<Shape.position_bytes()>::type;

/// Memory of floats reused as memory of such numbers.
template <pooling_shape Shape>
[[nodiscard]] inline pooling_position<Shape>* positions_in(float* memory) {
  return reinterpret_cast<pooling_position<Shape>*>(memory);
}

namespace detail {

/// Numbers from first to below last.
struct index_range {
  int first;
  int last;

  [[nodiscard]] constexpr int size() const { return last - first; }
};

/// The cells within the input of the window that begins at input cell `begin` (less than 0 in the padding).
constexpr index_range cells_of_window(int begin, int pool, int length) {
  return {begin < 0 ? -begin : 0, begin + pool > length ? length - begin : pool};
}

/// The windows that hold an input cell. `before` is the number of padding cells before the input.
constexpr index_range windows_of_cell(int cell, int before, int pool, int stride, int windows) {
  int const end = cell + before;
  int const first = end < pool ? 0 : (end - pool) / stride + 1;
  int const last = end / stride + 1;
  return {first, last < windows ? last : windows};
}

}  // namespace detail

}  // namespace stagecraft::kernels
