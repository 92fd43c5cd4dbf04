// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that falls by the same factor again and again.
// Keras counterpart: tf.keras.optimizers.schedules.ExponentialDecay.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// initial_learning_rate * decay_rate^(n / decay_steps) after n updates.
struct exponential_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates in which the rate is multiplied by `decay_rate` once. At least 1 (E4089).
  int decay_steps = 0;
  /// What the rate is multiplied by.
  float decay_rate = 0;
  /// Whether the exponent is a whole number, so that the rate falls in steps.
  bool staircase = false;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, decay_rate, staircase};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const part = (ops.step() - 1) / numbers[0];
      return initial * pow(numbers[1], numbers[2] != 0 ? floor(part) : part);
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
