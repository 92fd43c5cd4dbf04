// SPDX-License-Identifier: BSD-3-Clause
// How many units, filters or rows a layer may have.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <concepts>

namespace stagecraft::layers::detail {

/// Whether each is a number that a dimension may have.
template <std::same_as<int>... Counts>
constexpr bool are_counts(Counts... count) {
  return ((count >= 1 && count <= shape::longest) && ...);
}

/// What to say of numbers of which one is not: "at least 1" or "at most 268435456".
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
