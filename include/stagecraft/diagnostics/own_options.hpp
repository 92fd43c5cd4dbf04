// SPDX-License-Identifier: BSD-3-Clause
// How something of the user's own becomes an option of a layer or a training: its type as a pointer to what it can do,
// its options as words, so that what holds them is structural, whatever the type was. Level 0.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// The members of an own activation, metric, regularizer, initializer or constraint.
struct own_options {
  static constexpr std::size_t most = 8;
  unsigned words[most]{};  ///< what std::bit_cast makes of them

  friend constexpr bool operator==(own_options const&, own_options const&) = default;
};

namespace detail {

/// Whole words, no more than there are: floats, ints and enums of four bytes.
template <class Own>
inline constexpr bool has_whole_words =
    std::is_empty_v<Own> || (std::is_trivially_copyable_v<Own> && sizeof(Own) % sizeof(unsigned) == 0 &&
                             sizeof(Own) / sizeof(unsigned) <= own_options::most);

template <class Own>
constexpr own_options words_of([[maybe_unused]] Own const& own) {
  own_options result;
  if constexpr (!std::is_empty_v<Own>) {
    auto const words = std::bit_cast<std::array<unsigned, sizeof(Own) / sizeof(unsigned)>>(own);
    for (std::size_t i = 0; i < words.size(); ++i) result.words[i] = words[i];
  }
  return result;
}

/// The inverse of words_of.
template <class Own>
constexpr Own own_from([[maybe_unused]] own_options const& options) {
  if constexpr (std::is_empty_v<Own>) {
    return Own{};
  } else {
    std::array<unsigned, sizeof(Own) / sizeof(unsigned)> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = options.words[i];
    return std::bit_cast<Own>(words);
  }
}

/// Whether they are constants: bytes between the members, such as those behind a bool, are not.
template <class Own>
constexpr bool options_fit() {
  if constexpr (std::is_empty_v<Own> || !has_whole_words<Own>)
    return has_whole_words<Own>;
  else
    return requires { typename std::bool_constant<(static_cast<void>(words_of(own_from<Own>({}))), true)>; };
}

/// E1081 and E1082: what keeps a struct from being one's own of a kind. `what`: "activation" and the like; `call`: how
/// it says what it computes, if it does not.
template <class Own>
constexpr diagnostic check_own(std::string_view what, bool has_call, std::string_view call) {
  diagnostic problem;
  if (!options_fit<Own>())
    problem.report(1081, what, " '", type_name<Own>(), "' has members that are not at most ",
                   static_cast<int>(own_options::most), " floats and ints; write an int in place of a bool");
  else if (!has_call)
    problem.report(1082, what, " '", type_name<Own>(), "' does not say what it computes; give it `", call, "`");
  return problem;
}

}  // namespace detail

}  // namespace stagecraft
