// SPDX-License-Identifier: BSD-3-Clause
// A loss, an optimizer, activations, a constraint and a regularizer as users define them.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace laws {

namespace sc = stagecraft;

/// Of elements, and of a row as a whole.
struct quantile_and_distance : sc::loss<quantile_and_distance> {
  float q;
  constexpr explicit quantile_and_distance(float q_ = 0.75F) : q(q_) {}
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const error = target - output;
    return maximum(error * q, error * (q - 1)) + sqrt(ops.sum(square(error), -1) + 0.5F);
  }
};

/// Steps that no gradient makes longer than the learning rate, which warms up.
struct bounded : sc::optimizer<bounded> {
  float learning_rate = 0.02F;
  float momentum = 0.75F;
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const mean = ops.slot("mean");
    auto const now = mean * momentum + gradient * (1 - momentum);
    auto const rate = ops.learning_rate() * minimum(ops.step() / 4, 1.0F);
    ops.update(mean, now);
    ops.update(weight, weight - rate * (now / (abs(now) + 1)));
  }
};

struct mish : sc::own_activation<mish> {
  static constexpr std::string_view name = "mish";
  constexpr auto call(auto x) const { return x * tanh(softplus(x)); }
};

/// With options of both types.
struct bent : sc::own_activation<bent> {
  float slope;
  int power;
  constexpr explicit bent(float slope_ = 0.25F, int power_ = 2) : slope(slope_), power(power_) {}
  constexpr auto call(auto x) const { return where(x > 0.0F, x, -pow(abs(x), static_cast<float>(power)) * slope); }
};

/// Of a weight as a whole: no column has a larger sum of absolute values than `limit`.
struct l1_at_most : sc::own_constraint<l1_at_most> {
  static constexpr std::string_view name = "l1_at_most";
  float limit = 0.5F;
  constexpr explicit l1_at_most(float limit_ = 0.5F) : limit(limit_) {}
  constexpr auto call(auto& ops, auto weight) const {
    return weight / sc::maximum(ops.sum(abs(weight), 0) / limit, 1.0F);
  }
};

/// Hoyer and others, "DeepHoyer": of a weight as a whole.
struct hoyer : sc::own_regularizer<hoyer> {
  static constexpr std::string_view name = "hoyer";
  float factor;
  constexpr explicit hoyer(float factor_ = 0.02F) : factor(factor_) {}
  constexpr auto call(auto& ops, auto weight) const {
    return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * factor;
  }
};

}  // namespace laws
