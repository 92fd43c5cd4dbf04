// SPDX-License-Identifier: BSD-3-Clause
// The base of constraints of one's own. Keras counterpart: tf.keras.constraints.Constraint.
#pragma once

#include <stagecraft/graph/constraint.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft {

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
using own_constraint = detail::own_option<Derived, constraint>;

}  // namespace stagecraft
