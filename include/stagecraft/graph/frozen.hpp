// SPDX-License-Identifier: BSD-3-Clause
// What constant evaluation makes of vectors, kept as constants. Vectors cannot leave constant evaluation, and the
// lengths of arrays are part of their types, so everything that is kept is made twice: to be counted, and to be copied.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::detail {

/// A vector as an array of its length. All at once: an assignment for each element would take Clang many of the steps
/// that it allows.
template <std::size_t Size, class T>
constexpr std::array<T, Size> array_of(growing_array<T> const& source) {
  return [from = source.data()]<std::size_t... Index>(std::index_sequence<Index...>) {
    static_cast<void>(from);
    return std::array<T, Size>{from[Index]...};
  }(std::make_index_sequence<Size>{});
}

/// What `each<0>()`, `each<1>()` and so on return, `Count` in all: the constants of all passes, devices or weights.
template <int Count, class Each>
constexpr auto array_of_each(Each const& each) {
  return [&each]<std::size_t... Index>(std::index_sequence<Index...>) {
    static_cast<void>(each);
    return std::array<decltype(each.template operator()<0>()), Count> {
      each.template operator()<static_cast<int>(Index)>()...
    };
  }(std::make_index_sequence<Count>{});
}

/// How long the arrays of frozen<Make> are. A variable of its own: one inside of a function would be evaluated again
/// with each call of it.
template <class Make>
inline constexpr auto frozen_sizes = Make{}().sizes();

/// What `Make{}()` makes in constant evaluation, as a constant. What is made says how long its vectors are, `sizes()`,
/// and what is kept of it, `frozen<sizes>`, which is constructed from it.
template <class Make>
inline constexpr auto frozen = typename decltype(Make{}())::template frozen<frozen_sizes<Make>>(Make{}());

}  // namespace stagecraft::detail
