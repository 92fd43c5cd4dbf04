// SPDX-License-Identifier: BSD-3-Clause
// Adaptive moment estimation with decoupled weight decay.
// Counterpart: tfa.optimizers.AdamW.
#pragma once

#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// The step of `adam`, and w -= weight_decay w, whatever the learning rate is.
struct adamw {
  /// The share of itself that a weight loses in an update.
  float weight_decay = 0;
  /// How far weights move against their gradients in an update: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// Whether updates are divided by the largest v so far, in place of v.
  bool amsgrad = false;
  /// Lets the learning rate fall: by 1 / (1 + decay n) after n weight updates. What `learning_rate()` of the trainer
  /// says, and callbacks change, is the rate before that.
  float decay = 0;
  /// The gradient of a weight is scaled down where its Euclidean norm is larger than this; 0: not at all.
  float clipnorm = 0;
  /// Gradients are limited to [-clipvalue, clipvalue]; 0: not at all.
  float clipvalue = 0;
  /// The gradients of all weights are scaled down where the norm of all of them together is larger than this; 0: not at
  /// all. Not with `clipnorm` (E4089).
  float global_clipnorm = 0;
  /// Weights in whose names any of these texts is do not shrink, such as `{"bias", "normalization"}`; at most four.
  weight_names exclude_from_weight_decay = {};

  static constexpr std::string_view name = "adamw";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    detail::decaying decays(ops, weight, weight_decay);
    adam{.beta_1 = beta_1, .beta_2 = beta_2, .epsilon = epsilon, .amsgrad = amsgrad, .decay = decay}.update(
        decays, weight, gradient);
  }

  friend constexpr bool operator==(adamw const&, adamw const&) = default;
};

}  // namespace stagecraft::optimizers
