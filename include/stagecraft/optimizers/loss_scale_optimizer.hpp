// SPDX-License-Identifier: BSD-3-Clause
// Optimizers that scale the loss, so that gradients of half precision do not vanish.
// Keras counterpart: tf.keras.mixed_precision.LossScaleOptimizer; Graphcore's ALSOptimizer.
#pragma once

#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// An optimizer that multiplies the loss, so that float16 does not lose small gradients.
/// Keras counterpart: tf.keras.mixed_precision.LossScaleOptimizer.
/// `loss_scale_optimizer{adam{}}`: the loss's gradient is multiplied where it enters the backward pass, and the
/// gradients of weights are divided by the same factor where they are used, in float32. The reported loss stays as it
/// is. The factor grows while the gradients of all weights are finite; an update whose gradients are not is left out,
/// and makes the factor smaller (dynamic_loss_scale): emulated IPUs compute no infinity unless
/// `floating_point_behaviour.nanoo` says so. The trainer's `loss_scale()` returns the factor. Devices wait for each
/// other before any weight changes.
template <class Optimizer>
struct loss_scale_optimizer {
  /// The optimizer that updates the weights.
  Optimizer optimizer = {};
  /// True if the factor changes; else it is `initial_scale`, and every update is carried out.
  bool dynamic = true;
  /// The factor of the first update; a power of two, so that nothing is rounded.
  float initial_scale = 32768;
  /// Number of updates with finite gradients after which the factor doubles; at least 1 (E4089).
  int dynamic_growth_steps = 2000;
  /// The wrapped optimizer's learning rate, which callbacks change; programs do not set it.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  using listed_options = loss_scale_optimizer;
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

/// An optimizer that multiplies the loss by the largest factor that gradients of float16 can take. Graphcore
/// counterpart: keras.ipu.optimizers.ALSOptimizer, automatic loss scaling. `als_optimizer{sgd{0.01}}`: the loss's
/// gradient is multiplied where it enters the backward pass, and the gradients of weights are divided by the same
/// factor where they are used. A gradient overflows if, still multiplied, it is not below `histogram_bin_edge`. No
/// update is left out. The trainer's `loss_scale()` returns the factor. Devices wait for each other before any weight
/// changes.
///
/// All gradients of a weight update count, over its micro-batches and replicas, whatever their type; Graphcore counts
/// those of float16 alone. Graphcore's guide changes the factor every `update_frequency` updates, as this does; its
/// code does so one update later. `lpf_alpha` has no counterpart: it cancels in the share of gradients. Source:
/// graphcore/keras, keras/ipu/optimizers/als_optimizer.py.
template <class Optimizer>
struct als_optimizer {
  /// The optimizer that updates the weights.
  Optimizer optimizer = {};
  /// The factor of the first update; a power of two.
  float initial_loss_scaling_factor = 1;
  /// Number of updates after which the factor changes; at least 1.
  int update_frequency = 8;
  /// The number that multiplies or divides the factor; a power of two, at least 2.
  float increase_factor = 2;
  /// The factor stays below this power of two.
  float max_loss_scaling_factor = 32768;
  /// True if gradients of all updates since the last change count, or only those of the last update.
  bool accumulate_statistics_over_update_period = true;
  /// If a larger share of the gradients overflows, the factor falls, else it grows; above 0 and below 1.
  float ratio_threshold = 10e-6F;
  /// True if only gradients kept by layers::capture_upstream_gradients count, or those of weights as well.
  bool captured_grads_only = false;
  /// Gradients that are not below it overflow; above 0, and at most float16's largest number, 65504.
  float histogram_bin_edge = 8192;
  /// The wrapped optimizer's learning rate, which callbacks change; programs do not set it.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  using listed_options = als_optimizer;
  static constexpr std::string_view name = "als_optimizer";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    check(gradient.list->problem);
    count(ops, captured_grads_only ? none(gradient) : gradient);
    gradient = gradient * (1 / ops.loss_scale());
    optimizer.update(ops, weight, stagecraft::detail::prepared_gradient(optimizer, ops, gradient));
  }
  /// The update of a captured gradient (optimizers/captured_gradient.hpp).
  constexpr void update_captured(auto& ops, auto kept, auto gradient) const {
    count(ops, gradient);
    optimizer.update(ops, none(kept), stagecraft::detail::prepared_gradient(optimizer, ops, none(kept)));
    ops.update(kept, gradient);
  }

  friend constexpr bool operator==(als_optimizer const&, als_optimizer const&) = default;

 private:
  constexpr void count(auto& ops, operations::tensor gradient) const {
    ops.count_overflows(gradient, histogram_bin_edge);
  }
  static constexpr operations::tensor none(operations::tensor of) { return operations::number(*of.list, 0); }
  static constexpr bool is_power_of_two(float x) {
    while (x > 1 && x <= 3.4e38F) x /= 2;  // stops if x is infinite
    return x == 1;
  }
  /// Checks the options: E4089.
  constexpr void check(diagnostics::diagnostic& problem) const {
    auto const wrong = [&](std::string_view what) { problem.report(4089, "the training's als_optimizer has ", what); };
    if (update_frequency < 1) wrong("an update_frequency below 1");
    if (!is_power_of_two(initial_loss_scaling_factor) || !is_power_of_two(max_loss_scaling_factor) ||
        !is_power_of_two(increase_factor) || increase_factor < 2)
      wrong("a factor that is no power of two, or an increase_factor of 1");
    else if (initial_loss_scaling_factor * increase_factor >= max_loss_scaling_factor)
      wrong("a max_loss_scaling_factor that the first increase would reach");
    if (!(ratio_threshold > 0 && ratio_threshold < 1)) wrong("a ratio_threshold that is not between 0 and 1");
    if (!(histogram_bin_edge > 0 && histogram_bin_edge <= 65504))
      wrong("a histogram_bin_edge that is not above 0 and at most 65504");
  }
};

}  // namespace stagecraft::optimizers
