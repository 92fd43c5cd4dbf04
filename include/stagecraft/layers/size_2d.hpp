// SPDX-License-Identifier: BSD-3-Clause
// Keras's "an integer or a tuple of 2 integers": kernel sizes, strides, dilation rates.
#pragma once

#include <concepts>

namespace stagecraft {

/// Height and width; one number stands for both: `3` is `{3, 3}`.
struct size_2d {
  int height = 1;
  int width = 1;

  constexpr size_2d() = default;
  template <std::integral Number>  // a number with a point is a mistake of the layer, E1025
  constexpr explicit(false) size_2d(Number both) : height(static_cast<int>(both)), width(static_cast<int>(both)) {}
  constexpr size_2d(int height_, int width_) : height(height_), width(width_) {}

  [[nodiscard]] constexpr int area() const noexcept { return height * width; }
  /// Appends "(3, 5)", in Python's spelling of tuples.
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(').append(height).append(", ").append(width).append(')');
  }
  friend constexpr bool operator==(size_2d const&, size_2d const&) = default;
};

}  // namespace stagecraft
