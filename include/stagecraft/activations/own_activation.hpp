// SPDX-License-Identifier: BSD-3-Clause
// The base of activations of one's own. Keras counterpart: a function that is given as `activation`. Level 2.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/diagnostics/own_options.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

namespace detail {

template <class A>
concept HasActivationCall = requires(A const& own, operations::tensor x) {
  { own.call(x) } -> std::convertible_to<operations::tensor>;
};

/// What is known of a type of activation.
template <class A>
struct rules_of_activation {
  static constexpr operations::tensor call(own_options const& options, operations::tensor x) {
    return own_from<A>(options).call(x);
  }
  static constexpr own_activation_rules value{A::name, &call};
};

template <class A>
inline constexpr diagnostic own_activation_problem =
    [] { return check_own<A>("activation", HasActivationCall<A>, "constexpr auto call(auto x) const"); }();

}  // namespace detail

/// Base of an activation of your own, a function of one number in the words of a layer's `call`; its gradient follows:
///
///     struct mish : sc::own_activation<mish> {
///       static constexpr std::string_view name = "mish";
///       constexpr auto call(auto x) const { return x * tanh(softplus(x)); }
///     };
///
/// `dense{64, mish{}}`, `activation{mish{}}`, `lstm{32, {.activation = mish{}}}`: wherever a layer takes an activation.
/// Members are its options: at most eight floats and ints. Errors: E1081 other members; E1082 no `call`; E1083 too many
/// operations.
template <class Derived>
struct own_activation {
  static constexpr std::string_view name = "activation";  ///< in reports

#ifndef __clang__
  /// GCC names the line of the user's that makes one, not that of the conversion.
  constexpr own_activation() { static_assert(detail::report<detail::own_activation_problem<Derived>>()); }
#endif
  constexpr operator activation() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    static_assert(detail::report<detail::own_activation_problem<Derived>>());
    if constexpr (detail::own_activation_problem<Derived>.failed())
      return linear;
    else
      return {.kind = activation_kind::own,
              .own = &detail::rules_of_activation<Derived>::value,
              .options = detail::words_of(static_cast<Derived const&>(*this))};
  }

  friend constexpr bool operator==(own_activation const&, own_activation const&) = default;
};

}  // namespace stagecraft
