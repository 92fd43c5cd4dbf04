// SPDX-License-Identifier: BSD-3-Clause
// A learning rate that rises before it follows another schedule: what optimizers of large models begin with.
// Counterpart: WarmUp of TensorFlow's model garden.
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>

namespace stagecraft::optimizers::schedules {

/// n / warmup_steps times the initial rate for the first `warmup_steps` updates, n = 0, 1, ...; then what
/// `learning_rate` says, which counts all updates.
struct linear_warmup {
  /// The rate afterwards: a number or a schedule.
  stagecraft::learning_rate learning_rate = {};
  /// The number of updates during which the rate rises.
  int warmup_steps = 0;

  constexpr operator stagecraft::learning_rate() const {  // NOLINT(google-explicit-constructor): an optimizer's option
    auto result = learning_rate;
    result.warmup_steps = static_cast<float>(warmup_steps);
    return result;
  }
};

}  // namespace stagecraft::optimizers::schedules
