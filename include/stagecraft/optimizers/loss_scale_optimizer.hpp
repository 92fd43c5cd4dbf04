// SPDX-License-Identifier: BSD-3-Clause
// An optimizer whose gradients are found from a loss that is multiplied, so that float16 does not lose the small ones.
// Keras counterpart: tf.keras.mixed_precision.LossScaleOptimizer with dynamic=False.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// `loss_scale_optimizer{adam{}, 1024}`: the loss's gradient is multiplied by 1024 where it enters the backward pass,
/// and the gradients of weights are divided by it where they are used, in float32. The loss that is reported stays as
/// it is.
template <class Optimizer>
struct loss_scale_optimizer {
  /// What the weights are updated with.
  Optimizer optimizer = {};
  /// The factor; a power of two, so that nothing is rounded.
  float loss_scale = 32768;
  /// That of the optimizer; not to be given.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  static constexpr std::string_view name = "loss_scale_optimizer";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    optimizer.update(ops, weight, stagecraft::detail::prepared_gradient(optimizer, ops, gradient));
  }

  friend constexpr bool operator==(loss_scale_optimizer const&, loss_scale_optimizer const&) = default;
};

}  // namespace stagecraft::optimizers
