// SPDX-License-Identifier: BSD-3-Clause
// How a diagnostic reaches the compiler's output: as string template arguments of a class that cannot be constructed,
// so that both compilers print the text in the line that says `error:`. GCC prints such a string whole, Clang at most
// 31 characters of it, so that it gets the text in pieces; a C++26 compiler prints the text itself.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stagecraft {

/// A piece of an error's text.
template <std::size_t Length>
struct piece {
  char text[Length + 1]{};
};

/// The error itself. Its template arguments say what is wrong and what would be right.
template <piece... Text>
struct model_error {
  model_error() = delete;  // the text in quotes is the reason; docs/errors.md explains the code at its end
};

namespace detail {

#if defined(__clang__)
inline constexpr std::size_t longest_piece = 31;
#else
inline constexpr std::size_t longest_piece = 500;
#endif

/// Where piece `index` begins: pieces end behind a space where there is one.
constexpr std::size_t piece_begin(std::string_view text, std::size_t index) {
  std::size_t begin = 0;
  for (; index > 0 && begin < text.size(); --index) {
    std::size_t end = begin + longest_piece;
    if (end >= text.size()) return text.size();
    while (end > begin && text[end - 1] != ' ') --end;
    begin = end > begin ? end : begin + longest_piece;
  }
  return begin;
}

constexpr std::size_t piece_count(std::string_view text) {
  std::size_t count = 0;
  while (piece_begin(text, count) < text.size()) ++count;
  return count;
}

/// The whole text: the diagnostic's, and the line of the user's source where it is known.
template <auto const& Problem>
inline constexpr auto error_text = Problem.text_with_line();

template <auto const& Problem, std::size_t Index>
constexpr auto cut_piece() {
  constexpr std::size_t begin = piece_begin(error_text<Problem>, Index);
  constexpr std::size_t end = piece_begin(error_text<Problem>, Index + 1);
  piece<end - begin> result;
  for (std::size_t i = begin; i < end; ++i) result.text[i - begin] = error_text<Problem>.characters[i];
  result.text[end - begin] = 0;  // Clang prints characters as text only if it has seen the end being written
  return result;
}

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
template <piece... Text>
consteval bool fail() {
  constexpr auto whole = [] {
    fixed_text<500> result;
    (result.append(std::string_view(Text.text)), ...);
    return result;
  }();
  static_assert(sizeof...(Text) == 0, whole.view());
  return true;
}
#endif

/// What a check says of a model. This class is known by the text alone: GCC prints the arguments of all templates on
/// the way to an error, and a model's are long.
template <piece... Text>
struct verdict {
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
  static_assert(fail<Text...>());
#else
  static_assert(model_error<Text...>{});
#endif
  static constexpr bool reported = true;
  template <class Model>
  using model = Model;
};
template <>
struct verdict<> {
  static constexpr bool reported = true;
  template <class Model>
  using model = Model;
};

template <class T>
struct verdict_box {
  using type = T;
};

template <auto const& Problem>
constexpr auto box_verdict() {
  if constexpr (Problem.has_text())
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return verdict_box<verdict<cut_piece<Problem, Index>()...>>{};
    }(std::make_index_sequence<piece_count(error_text<Problem>)>{});
  else
    return verdict_box<verdict<>>{};
}

/// The verdict on a diagnostic; the error comes where a member of it is named.
template <auto const& Problem>
using verdict_on = typename decltype(box_verdict<Problem>())::type;

/// Instantiates the error, if there is one. Always true, so that the caller's own static_assert adds no second error.
template <auto const& Problem>
constexpr bool report() {
  return verdict_on<Problem>::reported;
}

}  // namespace detail

}  // namespace stagecraft
