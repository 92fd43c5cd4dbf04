// SPDX-License-Identifier: BSD-3-Clause
// An optimizer whose gradients are found from a loss that is multiplied, so that float16 does not lose the small ones.
// Keras counterpart: tf.keras.mixed_precision.LossScaleOptimizer.
#pragma once

#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// `loss_scale_optimizer{adam{}}`: the loss's gradient is multiplied where it enters the backward pass, and the
/// gradients of weights are divided by the same factor where they are used, in float32. The loss that is reported stays
/// as it is. The factor grows while the gradients of all weights are finite; an update whose gradients are not is left
/// out, and makes the factor smaller (dynamic_loss_scale): emulated IPUs give no infinity unless
/// `floating_point_behaviour.nanoo` says so. The trainer's `loss_scale()` says what the factor is. Devices wait for
/// each other before any weight changes.
template <class Optimizer>
struct loss_scale_optimizer {
  /// What the weights are updated with.
  Optimizer optimizer = {};
  /// Whether the factor changes; else it is `initial_scale`, and updates are carried out whatever gradients are.
  bool dynamic = true;
  /// The factor of the first update; a power of two, so that nothing is rounded.
  float initial_scale = 32768;
  /// After so many updates with finite gradients the factor doubles; at least 1 (E4089).
  int dynamic_growth_steps = 2000;
  /// The wrapped optimizer's learning rate, which callbacks change; it is not to be given.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  static constexpr std::string_view name = "loss_scale_optimizer";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    if (dynamic_growth_steps < 1)
      gradient.list->problem.report(4089, "the training's loss_scale_optimizer has dynamic_growth_steps ",
                                    dynamic_growth_steps, ", which is below 1");
    if (dynamic) {
      ops.expect_finite(gradient);
      gradient = gradient * (1 / ops.loss_scale());
    } else if (initial_scale != 1) {
      gradient = gradient * (1 / initial_scale);
    }
    optimizer.update(ops, weight, stagecraft::detail::prepared_gradient(optimizer, ops, gradient));
  }

  friend constexpr bool operator==(loss_scale_optimizer const&, loss_scale_optimizer const&) = default;
};

}  // namespace stagecraft::optimizers
