// SPDX-License-Identifier: BSD-3-Clause
// A loss's factor that grows while gradients are small enough for their type, and falls if they are not.
// Keras counterpart: _DynamicLossScaleState of tf.keras.mixed_precision.LossScaleOptimizer, and Graphcore's
// keras.ipu.optimizers.ALSOptimizer.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>

namespace stagecraft::optimizers::detail {

/// The rule by which the factor changes; it stays if `growth_steps` is 0.
struct loss_scale_rule {
  float initial_scale = 1;    ///< the factor of the first update
  int growth_steps = 0;       ///< updates before it grows
  float growth = 2;           ///< the factor is multiplied or divided by this
  float limit = 3.4e38F;      ///< the factor stays below this
  float ratio_threshold = 0;  ///< the share of gradients that may overflow; 0: none may be infinite, or NaN
  /// True if the gradients of all updates count for that share, or only those of the last update.
  bool accumulates = false;
  bool captured_only = false;  ///< true if gradients of weights do not count
};

}  // namespace stagecraft::optimizers::detail

namespace stagecraft {

/// After `growth_steps` updates one after the other with finite gradients the factor doubles; an update whose gradients
/// are not finite is left out, though it counts as a step of the optimizer, and the factor is halved, down to 1.
///
/// If there is a `ratio_threshold`, no update is left out: every `growth_steps` updates the factor falls if a larger
/// share of the gradients overflows, and grows if not, as long as it is at least 1 and below the limit.
struct dynamic_loss_scale {
  float scale = 1;              ///< losses are multiplied by this
  int good_steps = 0;           ///< updates since the factor changed
  bool is_finite = true;        ///< true if the gradients of the current update are finite
  std::int64_t overflowed = 0;  ///< gradients that overflowed since then

  /// Checks an update's gradients by the sum over all weights of the numbers that the optimizer computes for each; a
  /// number is 0 if its gradients are fine.
  constexpr void look_at(double sum, detail::loss_scale_rule const& rule) {
    if (rule.ratio_threshold == 0)
      is_finite = sum - sum == 0;
    else if (rule.accumulates || good_steps + 1 == rule.growth_steps)
      overflowed += static_cast<std::int64_t>(sum);
  }

  /// Changes the factor after an update. `gradients` is the number of elements of all weights.
  constexpr void advance(detail::loss_scale_rule const& rule, std::int64_t gradients) {
    if (!is_finite) {
      good_steps = 0;
      scale = scale > 2 ? scale / 2 : 1;
    } else if (++good_steps >= rule.growth_steps) {
      auto const all = static_cast<double>(gradients) * (rule.accumulates ? good_steps : 1);
      bool const falls = static_cast<double>(overflowed) > static_cast<double>(rule.ratio_threshold) * all;
      float const next = falls ? scale / rule.growth : scale * rule.growth;
      if (next >= 1 && next < rule.limit) scale = next;
      good_steps = 0;
      overflowed = 0;
    }
  }
};

}  // namespace stagecraft

namespace stagecraft::optimizers::detail {

/// The rule of a training's optimizer, or of one that it wraps.
template <class O>
constexpr loss_scale_rule loss_scale_rule_of(O const& optimizer) {
  if constexpr (requires { optimizer.dynamic_growth_steps; })
    if (optimizer.dynamic)
      return {.initial_scale = optimizer.initial_scale, .growth_steps = optimizer.dynamic_growth_steps};
  if constexpr (requires { optimizer.accumulate_statistics_over_update_period; })
    return {optimizer.initial_loss_scaling_factor,
            optimizer.update_frequency,
            optimizer.increase_factor,
            optimizer.max_loss_scaling_factor,
            optimizer.ratio_threshold,
            optimizer.accumulate_statistics_over_update_period,
            optimizer.captured_grads_only};
  else if constexpr (requires { optimizer.optimizer.learning_rate; })
    return loss_scale_rule_of(optimizer.optimizer);
  else
    return {};
}

/// The constant factor that multiplies the loss before gradients are computed.
template <class O>
constexpr float loss_scale_of(O const& optimizer) {
  float scale = 1;
  if constexpr (requires { optimizer.dynamic_growth_steps; })
    if (!optimizer.dynamic) scale = optimizer.initial_scale;
  if constexpr (requires { optimizer.optimizer.learning_rate; }) scale *= loss_scale_of(optimizer.optimizer);
  return scale;
}

}  // namespace stagecraft::optimizers::detail
