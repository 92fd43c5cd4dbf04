// SPDX-License-Identifier: BSD-3-Clause
// Losses of margins between classes.
// Keras counterpart: Hinge, SquaredHinge and CategoricalHinge of tf.keras.losses.
#pragma once

#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/operations/tensor.hpp>

namespace stagecraft::losses::detail {

/// The target, or -1 in place of 0.
constexpr operations::tensor signed_class(operations::tensor target) {
  return where(equal(target, 0.0F), -1.0F, target);
}

}  // namespace stagecraft::losses::detail

namespace stagecraft::losses {

/// The margin of classes -1 and 1. Keras: tf.keras.losses.Hinge.
/// mean over the last axis of max(1 - target prediction, 0); both (rows, columns). Targets are -1 and 1; 0 counts as -1
/// (in Keras only if all targets of a batch are 0 or 1).
struct hinge {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = hinge;
  static constexpr std::string_view name = "hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return maximum(1 - detail::signed_class(target) * output, 0.0F);
  }
};

/// The margin of classes -1 and 1, squared. Keras: tf.keras.losses.SquaredHinge.
/// mean over the last axis of max(1 - target prediction, 0)^2; both (rows, columns). Targets are -1 and 1; 0 counts as
/// -1 (in Keras only if all targets of a batch are 0 or 1).
struct squared_hinge {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = squared_hinge;
  static constexpr std::string_view name = "squared_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return square(maximum(1 - detail::signed_class(target) * output, 0.0F));
  }
};

/// The margin between the class and the best of the others. Keras: tf.keras.losses.CategoricalHinge.
/// max(0, 1 + max((1 - target) prediction) - sum(target prediction)) over the last axis; both (rows, columns).
struct categorical_hinge {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = categorical_hinge;
  static constexpr std::string_view name = "categorical_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return maximum(ops.max((1 - target) * output, -1) - ops.sum(target * output, -1) + 1, 0.0F);
  }
};

}  // namespace stagecraft::losses
