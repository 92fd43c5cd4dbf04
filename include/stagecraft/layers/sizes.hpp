// SPDX-License-Identifier: BSD-3-Clause
// Sizes and strides of windows over images and volumes, as Keras takes them: one number, or one for each axis.
#pragma once

#include <concepts>

namespace stagecraft {

/// Height and width, Keras's "an integer or a tuple of 2 integers"; one number stands for both: `3` is `{3, 3}`.
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

/// Depth, height and width, Keras's "an integer or a tuple of 3 integers"; one number stands for all: `3` is `{3, 3,
/// 3}`.
struct size_3d {
  int depth = 1;
  int height = 1;
  int width = 1;

  constexpr size_3d() = default;
  template <std::integral Number>  // a number with a point is a mistake of the layer, E1025
  constexpr explicit(false) size_3d(Number all)
      : depth(static_cast<int>(all)), height(static_cast<int>(all)), width(static_cast<int>(all)) {}
  constexpr size_3d(int depth_, int height_, int width_) : depth(depth_), height(height_), width(width_) {}

  /// The size along axis 0, 1 or 2.
  [[nodiscard]] constexpr int operator[](int axis) const noexcept {
    return axis == 0 ? depth : axis == 1 ? height : width;
  }
  /// Appends "(3, 5, 5)", in Python's spelling of tuples.
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(').append(depth).append(", ").append(height).append(", ").append(width).append(')');
  }
  friend constexpr bool operator==(size_3d const&, size_3d const&) = default;
};

}  // namespace stagecraft
