// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that changes at certain updates.
// Keras counterpart: tf.keras.optimizers.schedules.PiecewiseConstantDecay.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// values[0] for the first boundaries[0] + 1 updates, then values[1] until boundaries[1] + 1 are done, and so on:
///
///     .learning_rate = schedules::piecewise_constant_decay{.boundaries = {30, 60}, .values = {0.1F, 0.01F, 0.001F}}
///
/// At most eight boundaries; those behind the last one are 0.
struct piecewise_constant_decay {
  static constexpr int most = 8;
  /// After how many updates, less one, the rate changes.
  int boundaries[most]{};
  /// The rates, one more than boundaries.
  float values[most + 1]{};

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    learning_rate result(values[0], rule{});
    for (int i = 0; i < most; ++i) {
      result.numbers[i] = static_cast<float>(boundaries[i]);
      result.numbers[most + 1 + i] = values[i + 1];
    }
    result.numbers[most] = values[0];
    return result;
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      auto rate = initial;
      for (int i = 0; i < most && numbers[i] > 0; ++i)
        rate = where(ops.step() - 1 > numbers[i],
                     initial * (numbers[most + 1 + i] / number(*initial.list, numbers[most])), rate);
      return rate;
    }
  };
};

}  // namespace stagecraft::optimizers::schedules
