// SPDX-License-Identifier: BSD-3-Clause
// All activations: those that have a name, and the base of one's own.
// Keras counterpart: tf.keras.activations.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/diagnostics/own_options.hpp>

namespace stagecraft {

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
using own_activation = detail::own_option<Derived, activation>;

}  // namespace stagecraft
