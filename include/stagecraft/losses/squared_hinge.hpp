// SPDX-License-Identifier: BSD-3-Clause
// The margin of classes -1 and 1, squared.
// Keras counterpart: tf.keras.losses.SquaredHinge.
#pragma once

#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/losses/signed_class.hpp>

namespace stagecraft::losses {

/// mean over the last axis of max(1 - target prediction, 0)^2; both (rows, columns). Targets are -1 and 1; 0 counts as
/// -1 (in Keras only if all targets of a batch are 0 or 1).
struct squared_hinge {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "squared_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return square(maximum(1 - detail::signed_class(target) * output, 0.0F));
  }
};

}  // namespace stagecraft::losses
