// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that falls as one over the number of updates.
// Keras counterpart: tf.keras.optimizers.schedules.InverseTimeDecay.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// initial_learning_rate / (1 + decay_rate n / decay_steps) after n updates.
struct inverse_time_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates in which 1 / rate grows by `decay_rate` / initial_learning_rate. At least 1 (E4089).
  int decay_steps = 0;
  /// How fast it falls.
  float decay_rate = 0;
  /// Whether n / decay_steps is a whole number, so that the rate falls in steps.
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
      return initial / ((numbers[2] != 0 ? floor(part) : part) * numbers[1] + 1);
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
