// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that falls to an end along a power.
// Keras counterpart: tf.keras.optimizers.schedules.PolynomialDecay.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// (initial_learning_rate - end_learning_rate) (1 - n / decay_steps)^power + end_learning_rate after n updates, and
/// end_learning_rate after decay_steps; with `cycle`, decay_steps is doubled, tripled and so on when they have passed.
struct polynomial_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates after which the rate is `end_learning_rate`. At least 1 (E4089).
  int decay_steps = 0;
  /// The rate in the end.
  float end_learning_rate = 0.0001F;
  /// The power; 1: a line.
  float power = 1;
  /// Whether the rate goes up again behind decay_steps, to fall more slowly.
  bool cycle = false;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, end_learning_rate, power, cycle};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const n = ops.step() - 1;
      auto part = minimum(n / numbers[0], 1.0F);
      if (numbers[3] != 0) part = n / (maximum(-floor(n / -numbers[0]), 1.0F) * numbers[0]);
      auto const left = 1 - part;
      return (initial - numbers[1]) * (numbers[2] == 1 ? left : pow(left, numbers[2])) + numbers[1];
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
