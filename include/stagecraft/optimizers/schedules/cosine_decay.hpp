// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that falls along half a wave.
// Keras counterpart: tf.keras.optimizers.schedules.CosineDecay.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// initial_learning_rate ((1 - alpha) (1 + cos(pi n / decay_steps)) / 2 + alpha) after n updates, and
/// initial_learning_rate * alpha after decay_steps.
struct cosine_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates after which the rate is at its end. At least 1 (E4089).
  int decay_steps = 0;
  /// The rate in the end, as a share of the first one.
  float alpha = 0;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, alpha};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const part = minimum((ops.step() - 1) / numbers[0], 1.0F);
      return initial * ((cos(part * 3.14159265358979F) + 1) * (0.5F * (1 - numbers[1])) + numbers[1]);
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
