// SPDX-License-Identifier: BSD-3-Clause
// The factor of a loss that grows while gradients are finite, and falls where they are not.
// Keras counterpart: _DynamicLossScaleState of tf.keras.mixed_precision.LossScaleOptimizer.
#pragma once

namespace stagecraft {

/// After `growth_steps` updates one after the other with finite gradients the factor doubles; an update whose gradients
/// are not finite is left out, though it counts as a step of the optimizer, and the factor is halved, down to 1.
struct dynamic_loss_scale {
  float scale = 1;        ///< by which losses are multiplied
  int good_steps = 0;     ///< updates since the factor has changed
  bool is_finite = true;  ///< whether the gradients of the update that is being carried out are

  /// After an update.
  constexpr void advance(int growth_steps) {
    constexpr float largest = 1.7014118346046923e38F;  // its double is not finite
    if (!is_finite) {
      good_steps = 0;
      scale = scale > 2 ? scale / 2 : 1;
    } else if (++good_steps >= growth_steps) {
      good_steps = 0;
      if (scale < largest) scale *= 2;
    }
  }
};

namespace detail {

/// What a training's optimizer, or one that it is made of, says of that; `growth_steps` 0: nothing.
struct loss_scale_rule {
  float initial_scale = 1;  ///< of the first update
  int growth_steps = 0;     ///< good updates before it doubles
};
template <class O>
constexpr loss_scale_rule loss_scale_rule_of(O const& optimizer) {
  if constexpr (requires { optimizer.dynamic_growth_steps; })
    if (optimizer.dynamic) return {optimizer.initial_scale, optimizer.dynamic_growth_steps};
  if constexpr (requires { optimizer.optimizer.learning_rate; })
    return loss_scale_rule_of(optimizer.optimizer);
  else
    return {};
}

/// By what the loss is multiplied at all times before gradients are found.
template <class O>
constexpr float loss_scale_of(O const& optimizer) {
  float scale = 1;
  if constexpr (requires { optimizer.dynamic_growth_steps; })
    if (!optimizer.dynamic) scale = optimizer.initial_scale;
  if constexpr (requires { optimizer.optimizer.learning_rate; }) scale *= loss_scale_of(optimizer.optimizer);
  return scale;
}

}  // namespace detail

}  // namespace stagecraft
