// SPDX-License-Identifier: BSD-3-Clause
// Limits of numbers of units, filters and rows.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <concepts>

namespace stagecraft::layers::detail {

/// True if each number may be a dimension's length.
template <std::same_as<int>... Counts>
constexpr bool are_counts(Counts... count) {
  return ((count >= 1 && count <= shape::longest) && ...);
}

/// The limit that one of the numbers breaks, for errors: "at least 1" or "at most 268435456".
struct count_limit {
  bool is_below = false;

  template <std::same_as<int>... Counts>
  constexpr explicit count_limit(Counts... count) : is_below(((count < 1) || ...)) {}

  template <class Text>
  constexpr void append_to(Text& text) const {
    if (is_below)
      text.append("at least 1");
    else
      text.append("at most ").append(shape::longest);
  }
};

}  // namespace stagecraft::layers::detail
