// SPDX-License-Identifier: BSD-3-Clause
// The base of constraints of one's own. Keras counterpart: tf.keras.constraints.Constraint. Level 2.
#pragma once

#include <stagecraft/graph/constraint.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

namespace detail {

template <class C>
concept HasConstraintCall = requires(C const& own, operations::tracer& ops, operations::tensor weight) {
  { own.call(ops, weight) } -> std::convertible_to<operations::tensor>;
};

template <class C>
struct rules_of_constraint {
  static constexpr operations::tensor call(own_options const& options, operations::tracer& ops,
                                           operations::tensor weight) {
    return own_from<C>(options).call(ops, weight);
  }
  static constexpr constraint_rules value{C::name, &call};
};

/// A struct with a `name` and a `call` as a value.
template <HasConstraintCall C>
constexpr constraint constraint_of(C const& own) {
  return {&rules_of_constraint<C>::value, words_of(own)};
}

template <class C>
inline constexpr diagnostic own_constraint_problem =
    check_own<C>("constraint", HasConstraintCall<C>, "constexpr auto call(auto& ops, auto weight) const");

}  // namespace detail

/// Base of a constraint of your own: what a weight becomes after each update, in the words of a layer's `call`:
///
///     struct at_most_one : sc::own_constraint<at_most_one> {
///       static constexpr std::string_view name = "at_most_one";
///       constexpr auto call(auto& ops, auto weight) const { return weight / sc::maximum(ops.max(abs(weight),
///       0), 1.0F); }
///     };
///
/// `dense{64, sc::relu, {.kernel_constraint = at_most_one{}}}`. The weight has its whole shape, (inputs, units) of a
/// dense layer, and what `call` gives has the same. Members are options: at most eight floats and ints. Errors: E1070
/// for tensors that do not fit; E1081 other members; E1082 no `call`; E2064 operations that emulated IPUs do not have
/// for weights.
template <class Derived>
struct own_constraint {
  static constexpr std::string_view name = "constraint";  ///< in errors

#ifndef __clang__
  /// GCC names the line of the user's that makes one, not that of the conversion.
  constexpr own_constraint() { static_assert(detail::report<detail::own_constraint_problem<Derived>>()); }
#endif
  constexpr operator constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    static_assert(detail::report<detail::own_constraint_problem<Derived>>());
    if constexpr (detail::own_constraint_problem<Derived>.failed())
      return {};
    else
      return detail::constraint_of(static_cast<Derived const&>(*this));
  }

  friend constexpr bool operator==(own_constraint const&, own_constraint const&) = default;
};

}  // namespace stagecraft
