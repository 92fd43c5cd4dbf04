// SPDX-License-Identifier: BSD-3-Clause
// Keras's "an integer or a list of integers": the axes that a layer works along.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <concepts>

namespace stagecraft {

/// One axis or several, `-1` or `{1, 2}`, counted as in Keras: axis 0 is the batch, -1 the last one.
struct axis_list {
  /// As many as a sample has, and the batch.
  static constexpr int max_rank = shape::max_rank + 1, capacity = max_rank;
  static constexpr char const* entries_are_called = "the axes of a list";

  int axes[capacity]{};
  int count = 0;

  template <std::integral... Axes>
    requires(sizeof...(Axes) >= 1 && sizeof...(Axes) <= capacity)
  constexpr explicit(false) axis_list(Axes... axis) : axes{static_cast<int>(axis)...}, count(sizeof...(Axes)) {}
  /// More of them: E1126.
  template <std::integral... Axes>
    requires(sizeof...(Axes) > capacity)
  constexpr explicit(false) axis_list(Axes...) : axes{detail::too_many_entries} {
    static_assert(detail::report<detail::too_many_entries_problem<axis_list, sizeof...(Axes)>>());
  }

  /// No axis at all, where a layer allows that.
  [[nodiscard]] static constexpr axis_list none() { return {}; }

  [[nodiscard]] constexpr int const* begin() const noexcept { return axes; }
  [[nodiscard]] constexpr int const* end() const noexcept { return axes + count; }
  /// Whether this stands for a list that had its error.
  [[nodiscard]] constexpr bool already_reported() const noexcept {
    return count == 0 && axes[0] == detail::too_many_entries;
  }
  friend constexpr bool operator==(axis_list const&, axis_list const&) = default;

  /// Appends "-1" or "(1, 2)".
  template <class Text>
  constexpr void append_to(Text& text) const {
    if (count > 1) text.append('(');
    for (int i = 0; i < count; ++i) {
      if (i > 0) text.append(", ");
      text.append(axes[i]);
    }
    if (count > 1) text.append(')');
  }

 private:
  constexpr axis_list() = default;
};

}  // namespace stagecraft
