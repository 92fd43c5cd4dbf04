// SPDX-License-Identifier: BSD-3-Clause
// A weight penalty as a constant: l1 * sum|w| + l2 * sum w^2, or one of the user's own.
// Keras counterpart: tf.keras.regularizers.Regularizer. The loops are in kernels/update/regularization.hpp.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <string_view>

namespace stagecraft {

namespace operations {
struct tensor;
class tracer;
}  // namespace operations

/// The penalty l1 * sum|w| + l2 * sum w^2 that is added to the loss, or the user's own. `regularizer{}` is none. The
/// members have no initializers, as those of own_options.
struct regularizer {
  using own_call = operations::tensor(operations::tracer&, operations::tensor);
  static constexpr std::string_view own_name = "regularizer";
  static constexpr std::string_view own_usage = "constexpr auto call(auto& ops, auto weight) const";

  /// The factor of the sum of absolute values.
  float l1;
  /// The factor of the sum of squares.
  float l2;
  diagnostics::own_rules<own_call> const* rules;  ///< rules of the user's own regularizer
  diagnostics::own_options options;               ///< its members

  friend constexpr bool operator==(regularizer const&, regularizer const&) = default;

  /// True if there is nothing to add to the loss.
  [[nodiscard]] constexpr bool empty() const { return l1 == 0 && l2 == 0 && !is_own(); }
  [[nodiscard]] constexpr bool is_own() const { return rules != nullptr; }
};

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
