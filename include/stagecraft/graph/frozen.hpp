// SPDX-License-Identifier: BSD-3-Clause
// What constant evaluation makes of vectors, kept as constants. Vectors cannot leave constant evaluation, and the
// lengths of arrays are part of their types, so they are copied twice: into arrays that are long enough for most of
// their kind, where they are counted, and from there into arrays of their lengths. Only what is longer is made twice.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace stagecraft::tracing {

/// The first elements of a vector or array as an array of this length; default values if there are fewer.
template <std::size_t Size, class Source>
constexpr auto array_of(Source const& source) {
  std::array<typename Source::value_type, Size> result{};
  for (std::size_t i = 0; i < Size && i < source.size(); ++i) result[i] = source[i];
  return result;
}

/// The results of `each<0>()`, `each<1>()` and so on, `Count` in all: the constants of all passes, devices or weights.
template <int Count, class Each>
constexpr auto array_of_each(Each const& each) {
  return [&each]<std::size_t... Index>(std::index_sequence<Index...>) {
    static_cast<void>(each);
    return std::array<decltype(each.template operator()<0>()), Count> {
      each.template operator()<static_cast<int>(Index)>()...
    };
  }(std::make_index_sequence<Count>{});
}

/// True if no length is more than its counterpart in `most`: lengths are numbers, or structs of them.
template <class Lengths>
constexpr bool fit_in(Lengths const& lengths, Lengths const& most) {
  using numbers = std::array<std::size_t, sizeof(Lengths) / sizeof(std::size_t)>;
  auto const own = std::bit_cast<numbers>(lengths), other = std::bit_cast<numbers>(most);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] > other[i]) return false;
  return true;
}

/// A draft in arrays whose lengths are enough for most drafts of its kind, and the lengths that it needs.
template <class Draft>
struct counted_draft {
  decltype(Draft::usual_sizes) sizes;
  typename Draft::template frozen<Draft::usual_sizes> kept;

  constexpr explicit counted_draft(Draft const& made) : sizes(made.sizes()), kept(made) {}
};
template <class Make>
inline constexpr auto draft_of = counted_draft(Make{}());

template <class Make, auto Sizes>
constexpr auto freeze() {
  using draft = decltype(Make{}());
  if constexpr (fit_in(Sizes, draft::usual_sizes))
    return typename draft::template frozen<Sizes>(draft_of<Make>.kept);
  else
    return typename draft::template frozen<Sizes>(Make{}());
}

/// The draft that `Make{}()` makes in constant evaluation, as a constant. A draft has the lengths of its vectors,
/// `sizes()`, lengths that suffice for most, `usual_sizes`, and the type of its constant, `frozen<sizes>`, which is
/// constructed from the draft, or from a constant of other lengths.
template <class Make>
inline constexpr auto frozen_draft = freeze<Make, draft_of<Make>.sizes>();

}  // namespace stagecraft::tracing
