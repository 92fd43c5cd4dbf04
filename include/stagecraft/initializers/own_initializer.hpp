// SPDX-License-Identifier: BSD-3-Clause
// The base of initializers of one's own. Keras counterpart: tf.keras.initializers.Initializer.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft {

/// Base of an initializer of your own: the values that a weight of a shape begins with, in the words of a layer's
/// `call`:
///
///     struct ramp : sc::own_initializer<ramp> {
///       static constexpr std::string_view name = "ramp";
///       constexpr auto call(auto& ops, auto const& shape) const { return ops.iota(shape) * 0.1F + ops.normal(shape); }
///     };
///
/// `dense{64, sc::relu, {.kernel_initializer = ramp{}}}`. Random numbers are other ones for each weight, and follow
/// from the trainer's seed, or from a member `int seed` that is not 0. It is carried out once, on the host. Members are
/// options: at most eight floats and ints. Errors: E1070 for tensors that do not fit; E1081 other members; E1082 no
/// `call`.
template <class Derived>
using own_initializer = detail::own_option<Derived, initializer>;

}  // namespace stagecraft
