// SPDX-License-Identifier: BSD-3-Clause
// A weight penalty as a compile-time value: l1 * sum|w| + l2 * sum w^2.
// Keras counterpart: tf.keras.regularizers.L1L2. Level 0 of the house; the loops are in kernels/regularization.hpp.
#pragma once

namespace stagecraft {

/// The penalty l1 * sum|w| + l2 * sum w^2 that is added to the loss. Both 0: none.
struct regularizer {
  /// The factor of the sum of absolute values.
  float l1 = 0;
  /// The factor of the sum of squares.
  float l2 = 0;

  friend constexpr bool operator==(regularizer const&, regularizer const&) = default;

  /// True if there is nothing to add to the loss.
  [[nodiscard]] constexpr bool empty() const { return l1 == 0 && l2 == 0; }
};

}  // namespace stagecraft
