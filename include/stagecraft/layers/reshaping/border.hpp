// SPDX-License-Identifier: BSD-3-Clause
// Keras's `padding` and `cropping` arguments of layers that add or remove cells around a sequence, an image or a
// volume.
#pragma once

#include <concepts>

namespace stagecraft {

/// Cells before and after one axis; one number stands for both: `2` is `{2, 2}`.
struct border {
  int before = 0;
  int after = 0;

  constexpr border() = default;
  template <std::integral Number>  // a number with a point is a mistake of the layer, E1025
  constexpr explicit(false) border(Number both) : before(static_cast<int>(both)), after(static_cast<int>(both)) {}
  constexpr border(int before_, int after_) : before(before_), after(after_) {}

  [[nodiscard]] constexpr long long total() const noexcept { return 1LL * before + after; }
  friend constexpr bool operator==(border const&, border const&) = default;

  /// Appends "(1, 2)".
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(').append(before).append(", ").append(after).append(')');
  }
};

/// Cells around an image: `1` on all sides, `{1, 2}` above and below, left and right, or `{{top, bottom}, {left,
/// right}}`, as in Keras.
struct border_2d {
  border rows;
  border columns;

  constexpr border_2d() = default;
  template <std::integral Number>  // a number with a point is a mistake of the layer, E1025
  constexpr explicit(false) border_2d(Number all) : rows(static_cast<int>(all)), columns(static_cast<int>(all)) {}
  constexpr border_2d(int rows_, int columns_) : rows(rows_), columns(columns_) {}
  constexpr border_2d(border const& rows_, border const& columns_) : rows(rows_), columns(columns_) {}

  friend constexpr bool operator==(border_2d const&, border_2d const&) = default;

  /// Appends "((1, 1), (2, 2))".
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(');
    rows.append_to(text);
    text.append(", ");
    columns.append_to(text);
    text.append(')');
  }
};

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
