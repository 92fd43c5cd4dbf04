// SPDX-License-Identifier: BSD-3-Clause
// How something of the user's own becomes an option of a layer or a training: its type as a pointer to what it can do,
// its options as words, so that what holds them is structural, whatever the type was.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::diagnostics {

/// The members of an own activation, metric, regularizer, initializer or constraint. Written `own_options{}`, they are
/// zero: GCC prints a member that has an initializer, but not one that is zero because nothing else is said.
struct own_options {
  static constexpr std::size_t most = 8;
  unsigned words[most];  ///< the bits of the members

  friend constexpr bool operator==(own_options const&, own_options const&) = default;
};

/// The name and the functions of a type of the user's own.
template <class Signature>
struct own_rules;
template <class Result, class... Arguments>
struct own_rules<Result(Arguments...)> {
  std::string_view name;                             ///< its name in errors and reports
  Result (*call)(own_options const&, Arguments...);  ///< its `call`, with its members
  bool takes_ops;                                    ///< true: `call` takes the first of the arguments, the ops
};

/// Whole words, no more than there are: floats, ints and enums of four bytes.
template <class Own>
inline constexpr bool has_whole_words =
    std::is_empty_v<Own> || (std::is_trivially_copyable_v<Own> && sizeof(Own) % sizeof(unsigned) == 0 &&
                             sizeof(Own) / sizeof(unsigned) <= own_options::most);

template <class Own>
constexpr own_options words_of([[maybe_unused]] Own const& own) {
  own_options result{};
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

/// True if all bytes of the options are constants: bytes between the members, such as those after a bool, are not.
template <class Own>
constexpr bool options_fit() {
  if constexpr (std::is_empty_v<Own> || !has_whole_words<Own>)
    return has_whole_words<Own>;
  else
    return requires { typename std::bool_constant<(static_cast<void>(words_of(own_from<Own>({}))), true)>; };
}

/// The rules of a type, if it has a `call` of these arguments, or of all but the first.
template <class Own, class Signature>
struct rules_of_own;
template <class Own, class Result, class First, class... Others>
struct rules_of_own<Own, Result(First, Others...)> {
  static constexpr bool takes_all = requires(Own const& own, First first, Others... others) {
    { own.call(first, others...) } -> std::convertible_to<Result>;
  };
  static constexpr bool has_call = takes_all || requires(Own const& own, Others... others) {
    { own.call(others...) } -> std::convertible_to<Result>;
  };
  static constexpr Result call(own_options const& options, [[maybe_unused]] First first, Others... others) {
    if constexpr (takes_all)
      return own_from<Own>(options).call(first, others...);
    else
      return own_from<Own>(options).call(others...);
  }
  static constexpr own_rules<Result(First, Others...)> value{Own::name, &call, takes_all};
};

/// A struct with a `name` and a `call` as the value of an option.
template <class Option, class Own>
constexpr Option option_of_own(Own const& own) {
  Option result{};
  if constexpr (requires { Option::own_kind; }) result.kind = Option::own_kind;
  if constexpr (requires { own.seed, result.seed; }) result.seed = static_cast<decltype(result.seed)>(own.seed);
  result.rules = &rules_of_own<Own, typename Option::own_call>::value;
  result.options = words_of(own);
  if constexpr (requires { result.take(own); }) result.take(own);
  return result;
}

/// E1081 and E1082: what keeps a struct from being one's own of a kind.
template <class Own, class Option>
inline constexpr diagnostic own_problem = [] {
  diagnostic problem;
  if (!options_fit<Own>())
    problem.report(1081, Option::own_name, " '", type_name<Own>(), "' has members that are not at most ",
                   static_cast<int>(own_options::most), " floats and ints; write an int in place of a bool");
  else if (!rules_of_own<Own, typename Option::own_call>::has_call)
    problem.report(1082, Option::own_name, " '", type_name<Own>(), "' does not say what it computes; give it `",
                   Option::own_usage, "`");
  return problem;
}();

/// The base of own_activation, own_metric, own_regularizer, own_initializer and own_constraint. An option says in
/// `own_call` what it is called with, in `own_name` and `own_usage` what errors say, and may have a kind `own_kind`.
template <class Derived, class Option>
struct own_option {
  static constexpr std::string_view name = Option::own_name;  ///< its name in errors and reports

#ifndef __clang__
  /// GCC names the line of the user's that makes one, not that of the conversion.
  constexpr own_option() { static_assert(report<own_problem<Derived, Option>>()); }
#endif
  constexpr operator Option() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    static_assert(report<own_problem<Derived, Option>>());
    if constexpr (own_problem<Derived, Option>.failed())
      return {};
    else
      return option_of_own<Option>(static_cast<Derived const&>(*this));
  }

  friend constexpr bool operator==(own_option const&, own_option const&) = default;
};

}  // namespace stagecraft::diagnostics
