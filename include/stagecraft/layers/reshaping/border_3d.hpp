// SPDX-License-Identifier: BSD-3-Clause
// Keras's `padding` and `cropping` arguments of layers that add or remove cells around a volume.
#pragma once

#include <stagecraft/layers/reshaping/border_2d.hpp>
#include <concepts>

namespace stagecraft {

/// Cells around a volume: `1` on all sides, `{1, 2, 3}` on both sides of each axis, or three pairs, as in Keras.
struct border_3d {
  border along[3];

  constexpr border_3d() = default;
  template <std::integral Number>  // a number with a point is a mistake of the layer, E1025
  constexpr explicit(false) border_3d(Number all)
      : along{static_cast<int>(all), static_cast<int>(all), static_cast<int>(all)} {}
  constexpr border_3d(border const& depth, border const& rows, border const& columns) : along{depth, rows, columns} {}

  [[nodiscard]] constexpr bool has_negative() const noexcept {
    for (border const& each : along)
      if (each.before < 0 || each.after < 0) return true;
    return false;
  }
  friend constexpr bool operator==(border_3d const&, border_3d const&) = default;

  /// Appends "((1, 1), (2, 2), (3, 3))".
  template <class Text>
  constexpr void append_to(Text& text) const {
    for (int axis = 0; axis < 3; ++axis) {
      text.append(axis == 0 ? "(" : ", ");
      along[axis].append_to(text);
    }
    text.append(')');
  }
};

}  // namespace stagecraft
