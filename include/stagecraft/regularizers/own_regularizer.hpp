// SPDX-License-Identifier: BSD-3-Clause
// The base of regularizers of one's own. Keras counterpart: tf.keras.regularizers.Regularizer.
#pragma once

#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft {

/// Base of a regularizer of your own: the penalty of a weight, in the words of a layer's `call`; its gradient follows:
///
///     struct hoyer : sc::own_regularizer<hoyer> {
///       static constexpr std::string_view name = "hoyer";
///       float factor = 0.01F;
///       constexpr auto call(auto& ops, auto weight) const {
///         return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * factor;
///       }
///     };
///
/// `dense{64, sc::relu, {.kernel_regularizer = hoyer{}}}`. The weight has its whole shape, and the penalty is one
/// number. Members are options: at most eight floats and ints. Errors: E1070 for tensors that do not fit; E1081 other
/// members; E1082 no `call`; E2064 operations that emulated IPUs do not have for weights.
template <class Derived>
using own_regularizer = detail::own_option<Derived, regularizer>;

}  // namespace stagecraft
