// SPDX-License-Identifier: BSD-3-Clause
// How a diagnostic reaches the compiler's output: as the text of a static_assert where the compiler takes one that is
// computed, which Clang does from 20 on and every compiler in C++26. Otherwise it is a template argument of a class
// that cannot be constructed, so that the text stands in the line that says `error:`. GCC prints such a string whole,
// Clang up to 36 characters of it, so that it gets the text in lines.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft {

#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || !defined(__clang__) || \
    (__clang_major__ >= 20 && !defined(__apple_build_version__))
/// An error's text.
template <std::size_t Length>
struct piece {
  char text[Length + 1]{};
};
#else
/// An error's text, or a piece of it: of an array, Clang prints ten elements.
struct piece {
  static constexpr std::size_t most_lines = 10;
  static constexpr std::size_t longest_line = 36;

  struct line {
    char text[longest_line + 1];
  };
  line lines[most_lines];
};
#endif

/// The error itself. Its template arguments say what is wrong and what would be right.
template <piece... Text>
struct model_error {
  model_error() = delete;  // the text in quotes is the reason; docs/errors.md explains the code at its end
};

}  // namespace stagecraft

namespace stagecraft::diagnostics {

/// The whole text: the diagnostic's, and the line of the user's source where it is known.
template <auto const& Problem>
inline constexpr auto error_text = Problem.text_with_line();

#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || !defined(__clang__) || \
    (__clang_major__ >= 20 && !defined(__apple_build_version__))
constexpr std::size_t piece_count(std::string_view) { return 1; }

template <auto const& Problem, std::size_t>
constexpr auto cut_piece() {
  constexpr auto const& text = error_text<Problem>;
  piece<text.length> result;
  for (std::size_t i = 0; i < text.length; ++i) result.text[i] = text.characters[i];
  return result;
}
#else
/// The begin of line `index`: lines end after a space where there is one.
constexpr std::size_t line_begin(std::string_view text, std::size_t index) {
  std::size_t begin = 0;
  for (; index > 0 && begin < text.size(); --index) {
    std::size_t end = begin + piece::longest_line;
    if (end >= text.size()) return text.size();
    while (end > begin && text[end - 1] != ' ') --end;
    begin = end > begin ? end : begin + piece::longest_line;
  }
  return begin;
}

constexpr std::size_t line_count(std::string_view text) {
  std::size_t count = 0;
  while (line_begin(text, count) < text.size()) ++count;
  return count;
}

constexpr std::size_t piece_count(std::string_view text) {
  return (line_count(text) + piece::most_lines - 1) / piece::most_lines;
}

/// Clang prints characters as text only if no more of them are initialized than are printed.
template <auto const& Problem, std::size_t Index>
constexpr auto cut_line() {
  constexpr std::size_t begin = line_begin(error_text<Problem>, Index);
  constexpr std::size_t end = line_begin(error_text<Problem>, Index + 1);
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return piece::line{{error_text<Problem>.characters[begin + I]..., 0}};
  }(std::make_index_sequence<end - begin>{});
}

template <auto const& Problem, std::size_t Index>
constexpr auto cut_piece() {
  constexpr std::size_t first = Index * piece::most_lines;
  constexpr std::size_t others = line_count(error_text<Problem>) - first;
  return []<std::size_t... Row>(std::index_sequence<Row...>) {
    return piece{{cut_line<Problem, first + Row>()...}};
  }(std::make_index_sequence<(others < piece::most_lines ? others : piece::most_lines)>{});
}
#endif

#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || \
    (defined(__clang__) && __clang_major__ >= 20 && !defined(__apple_build_version__))
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wc++26-extensions"
#endif
/// A function of its own, since a class whose static_assert fails makes Clang refuse what names it.
template <piece... Text>
consteval bool fail() {
  static_assert(sizeof...(Text) == 0, (std::string_view(Text.text), ...));
  return true;
}
#pragma GCC diagnostic pop
#endif

/// The result of a check of a model. This class is known by the text alone: GCC prints the arguments of all templates
/// on the way to an error, and a model's are long.
template <piece... Text>
struct verdict {
#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || \
    (defined(__clang__) && __clang_major__ >= 20 && !defined(__apple_build_version__))
  static_assert(fail<Text...>());
#else
  static_assert(model_error<Text...>{});
#endif
  /// Always true, so that the static_assert that asks for it adds no second error.
  explicit constexpr operator bool() const noexcept { return true; }
  using checked = verdict;
  template <class Model>
  using model = Model;
};
template <>
struct verdict<> {
  /// Always true, so that the static_assert that asks for it adds no second error.
  explicit constexpr operator bool() const noexcept { return true; }
  using checked = verdict;
  template <class Model>
  using model = Model;
};

template <class T>
struct verdict_box {
  using type = T;
  using checked = T;
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

/// True if the text of an error is that of a static_assert, and not among the template arguments that compilers print.
#if (defined(__cpp_static_assert) && __cpp_static_assert >= 202306L) || \
    (defined(__clang__) && __clang_major__ >= 20 && !defined(__apple_build_version__))
inline constexpr bool asserts_texts = true;
#else
inline constexpr bool asserts_texts = false;
#endif

template <class Verdict>
struct refusal;
template <piece... Text>
struct refusal<verdict<Text...>> {
  using type = std::conditional_t<asserts_texts, verdict<Text...>, model_error<Text...>>;
};

/// A class of which no value can be made; the error has the text of the diagnostic, which has one.
template <auto const& Problem>
using refusal_of = typename refusal<verdict_on<Problem>>::type;

#ifdef __clang__
template <auto const& Problem>
using early_verdict = decltype(box_verdict<Problem>());
#else
/// The verdict of an alias for users, so that the error is at the line that names the alias, and its arguments, which
/// are long, are not printed:
///
///     template <class M, class Verdict = typename early_verdict<problem_of<M>>::checked>
///     using model_with = typename Verdict::template model<M>;
///
/// GCC prints the arguments of an alias when something in it fails, but not when a default argument fails; Clang does
/// the opposite. So `checked` instantiates the verdict with GCC, and the alias does so with Clang.
template <auto const& Problem>
using early_verdict = verdict_on<Problem>;
#endif

/// `static_assert(report<problem<M>>())` is the error, if there is one: a value of the verdict's class. An alias, not a
/// function, since GCC and Clang print a function's template argument, the name of the problem.
template <auto const& Problem>
using report = verdict_on<Problem>;

/// A result with its members, so that what is asked of it is no second error.
template <class Verdict, class Result>
struct refused : Result {
  static_assert(Verdict{});
};

/// The type that a member function returns: `Result`, or a class that reports a diagnostic with a text. That class is
/// completed where the function is called, so that the error is at the user's line, and no argument of the function's
/// class is printed:
///
///     template <fixed_name Name>
///     result_or_verdict<problem_of<M, Name>> reset();
template <auto const& Problem, class Result = void>
using result_or_verdict = std::conditional_t<
    Problem.has_text(),
    std::conditional_t<std::is_class_v<Result>, refused<verdict_on<Problem>, Result>, verdict_on<Problem>>, Result>;

}  // namespace stagecraft::diagnostics
