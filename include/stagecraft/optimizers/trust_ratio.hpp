// SPDX-License-Identifier: BSD-3-Clause
// Optimizers that scale a weight's step so that it is as large, beside the weight, as that of any other weight.
// Counterpart: tfa.optimizers.LAMB and LARS.
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// `times` |weight| / |step|, norms of the whole weight; 1 where one of them is 0.
[[nodiscard]] constexpr auto trust_ratio(auto& ops, auto weight, auto step, float times = 1) {
  auto const of_weight = ops.norm(weight), of_step = ops.norm(step);
  return where(of_weight > 0.0F, where(of_step > 0.0F, of_weight * times / of_step, 1.0F), 1.0F);
}

/// Adaptive moment estimation whose steps are as large, beside each weight, as the learning rate says: for large
/// batches. Counterpart: tfa.optimizers.LAMB.
/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// u = m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon) + weight_decay w,
/// w -= learning_rate |w| / |u| u, with Euclidean norms of the whole weight.
struct lamb {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-6F;
  /// The share of itself that a weight's step u contains.
  float weight_decay = 0;
  /// Weights in whose names any of these texts is do not shrink, such as `{"bias", "normalization"}`; at most four.
  weight_names exclude_from_weight_decay = {};
  /// Weights in whose names any of these texts is move by learning_rate u; without any, those that do not shrink.
  weight_names exclude_from_layer_adaptation = {};
  /// True if any other weight's step is scaled by |w| / |u|.
  bool layer_adaptation = true;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = lamb;
  static constexpr std::string_view name = "lamb";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const m = ops.slot("m"), v = ops.slot("v");
    auto const m_now = m * beta_1 + gradient * (1 - beta_1);
    auto const v_now = v * beta_2 + square(gradient) * (1 - beta_2);
    ops.update(m, m_now);
    ops.update(v, v_now);
    auto const t = ops.step();
    auto step = m_now * (1 / (1 - pow(beta_1, t))) / (sqrt(v_now * (1 / (1 - pow(beta_2, t)))) + epsilon);
    if (weight_decay != 0) step = step + weight * weight_decay;
    auto rate = decayed_rate(ops, decay);
    if (layer_adaptation) rate = rate * trust_ratio(ops, weight, step);
    ops.update(weight, weight - rate * step);
  }

  friend constexpr bool operator==(lamb const&, lamb const&) = default;
};

/// Gradient descent with momentum whose steps are scaled by the size of each weight: for large batches. Counterpart:
/// LARS of TensorFlow's model garden (official.modeling.optimization.lars).
/// Norms are Euclidean norms of the whole weight, and d = g + weight_decay_rate w:
/// m = momentum m + learning_rate eeta |w| / |d| d, then w -= m, or w -= momentum m + learning_rate eeta |w| / |d| d
/// for Nesterov. If `classic_momentum` is false, the learning rate comes after the momentum: m = momentum m + d, u = m
/// or, for Nesterov, momentum m + d, and w -= learning_rate eeta |w| / |u| u.
struct lars {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.01F;
  /// The share of its last movement that a weight keeps.
  float momentum = 0.9F;
  /// The share of itself that is added to a weight's gradient.
  float weight_decay_rate = 0;
  /// The movement of a weight, relative to its own norm, at a learning rate of 1.
  float eeta = 0.001F;
  /// True if the momentum is Nesterov's, which looks one movement ahead.
  bool nesterov = false;
  /// True if movements are scaled before they are kept.
  bool classic_momentum = true;
  /// Weights in whose names any of these texts is do not shrink, such as `{"bias", "normalization"}`; at most four.
  weight_names exclude_from_weight_decay = {};
  /// Weights in whose names any of these texts is move by learning_rate d; without any, those that do not shrink.
  weight_names exclude_from_layer_adaptation = {};
  /// True if any other weight's step is scaled by eeta |w| / |d|.
  bool layer_adaptation = true;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = lars;
  static constexpr std::string_view name = "lars";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const movement = ops.slot("momentum");
    if (weight_decay_rate != 0) gradient = gradient + weight * weight_decay_rate;
    auto const rate = decayed_rate(ops, decay);
    auto const scaled = [&](auto step) {
      return layer_adaptation ? rate * trust_ratio(ops, weight, step, eeta) : rate;
    };
    auto const keep = [&](auto step) {
      auto const next = movement * momentum + step;
      ops.update(movement, next);
      return nesterov ? next * momentum + step : next;
    };
    if (classic_momentum) {
      ops.update(weight, weight - keep(gradient * scaled(gradient)));
    } else {
      auto const step = keep(gradient);
      ops.update(weight, weight - step * scaled(step));
    }
  }

  friend constexpr bool operator==(lars const&, lars const&) = default;
};

}  // namespace stagecraft::optimizers
