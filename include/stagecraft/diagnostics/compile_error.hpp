// SPDX-License-Identifier: BSD-3-Clause
// How a diagnostic reaches the compiler's output: as string template arguments of one class whose static_assert fails.
// GCC prints such a string whole, Clang at most 31 characters of it, so that it gets the text in pieces. Level 0.
#pragma once

#include <cstddef>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <string_view>
#include <utility>

namespace stagecraft {

/// A piece of an error's text.
template <std::size_t Length>
struct piece {
  char text[Length + 1]{};
};

/// The error itself. Its template arguments are what is wrong and what would be right; the code at the end is
/// explained in docs/errors.md.
template <piece... Text>
struct model_error {
  static_assert(sizeof...(Text) == 0, "stagecraft: this is not valid; the reason stands in quotes next to model_error");
};

namespace detail {

#if defined(__clang__)
inline constexpr std::size_t longest_piece = 31;
#else
inline constexpr std::size_t longest_piece = 400;
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

template <auto const& Problem, std::size_t Index>
constexpr auto cut_piece() {
  constexpr std::size_t begin = piece_begin(Problem.text, Index);
  constexpr std::size_t end = piece_begin(Problem.text, Index + 1);
  piece<end - begin> result;
  for (std::size_t i = begin; i < end; ++i) result.text[i - begin] = Problem.text.characters[i];
  return result;
}

template <auto const& Problem, class Indices = std::make_index_sequence<piece_count(Problem.text)>>
struct compile_error;
template <auto const& Problem, std::size_t... Index>
struct compile_error<Problem, std::index_sequence<Index...>> : model_error<cut_piece<Problem, Index>()...> {};

/// Instantiates the error, if there is one. Always true, so that the caller's own static_assert adds no second error.
template <auto const& Problem>
constexpr bool report() {
  if constexpr (Problem.failed()) return sizeof(compile_error<Problem>) > 0;
  return true;
}

}  // namespace detail

}  // namespace stagecraft
