// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that falls along half waves, each longer and lower than the last one.
// Keras counterpart: tf.keras.optimizers.schedules.CosineDecayRestarts.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// As cosine_decay, which begins again when it has ended: each time `t_mul` times as long, from `m_mul` times the
/// height.
struct cosine_decay_restarts {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates of the first wave. At least 1 (E4089).
  int first_decay_steps = 0;
  /// The factor by which a wave is longer than the one before it.
  float t_mul = 2;
  /// The factor by which it is higher.
  float m_mul = 1;
  /// The lowest rate, as a share of the first one.
  float alpha = 0;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, first_decay_steps, t_mul, m_mul, alpha};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("first_decay_steps", numbers[0]);
      auto const waves = (ops.step() - 1) / numbers[0];  // of the length of the first one
      float const longer = numbers[1];
      // A little more, so that rounding does not delay a restart.
      auto const wave =
          longer == 1 ? floor(waves) : floor(log(waves * (longer - 1) + 1) / log(number(*waves.list, longer)) + 1e-9F);
      auto const length = pow(longer, wave);
      auto const part = longer == 1 ? waves - wave : (waves - (length - 1) / (longer - 1)) / length;
      auto const height = pow(numbers[2], wave) * (0.5F * (1 - numbers[3]));
      return initial * (height * (cos(part * 3.14159265358979F) + 1) + numbers[3]);
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
