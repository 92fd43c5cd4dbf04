// SPDX-License-Identifier: BSD-3-Clause
// Copies an image into a larger one with zeros around it, and the middle of an image into a smaller one: each is the
// gradient of the other. Keras counterpart: tf.keras.layers.ZeroPadding2D, Cropping2D and those of one axis. Level 4 of
// the house.
#pragma once

#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/kernels/share.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// An image (height, width, channels) and the cells around it. A sequence is an image of height 1.
struct border_shape {
  int height = 1, width = 1, channels = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int outer_height() const noexcept { return top + height + bottom; }
  [[nodiscard]] constexpr int outer_width() const noexcept { return left + width + right; }
  /// Elements of the image, and of the image with its border.
  [[nodiscard]] constexpr int size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int outer_size() const noexcept { return outer_height() * outer_width() * channels; }

  friend constexpr bool operator==(border_shape const&, border_shape const&) = default;
};

/// y = the images x with zeros around them; if Accumulate, the images are added to what is in y.
/// Items of `part`: rows of y, of all samples.
template <int Batch, border_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void add_border(float const* x, float* y, share part = {}) {
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  constexpr std::int64_t outer_row_size = static_cast<std::int64_t>(Shape.outer_width()) * Shape.channels;
  constexpr std::int64_t left = static_cast<std::int64_t>(Shape.left) * Shape.channels;
  auto const clear = [](float* from, std::int64_t floats) {
    if (!Accumulate && floats > 0) std::memset(from, 0, static_cast<std::size_t>(floats) * sizeof(float));
  };
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.outer_height());
  for (std::int64_t item = first; item < last; ++item) {
    float* const to = y + item * outer_row_size;
    std::int64_t const row = item % Shape.outer_height() - Shape.top;
    if (row < 0 || row >= Shape.height) {
      clear(to, outer_row_size);
    } else {
      float const* const from = x + (item / Shape.outer_height() * Shape.height + row) * row_size;
      clear(to, left);
      copy_blocks<Accumulate, Arch>(1, row_size, from, 0, to + left, 0);
      clear(to + left + row_size, outer_row_size - left - row_size);
    }
  }
}

/// x = the images in the middle of y, or x += them, if Accumulate.
/// Items of `part`: rows of x, of all samples.
template <int Batch, border_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void remove_border(float const* y, float* x, share part = {}) {
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  constexpr std::int64_t outer_row_size = static_cast<std::int64_t>(Shape.outer_width()) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const row = item / Shape.height * Shape.outer_height() + Shape.top + item % Shape.height;
    copy_blocks<Accumulate, Arch>(1, row_size, y + row * outer_row_size + Shape.left * Shape.channels, 0,
                                  x + item * row_size, 0);
  }
}

}  // namespace stagecraft::kernels
