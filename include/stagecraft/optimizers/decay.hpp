// SPDX-License-Identifier: BSD-3-Clause
// The learning rate that falls with each weight update. Keras counterpart: the argument `decay` of the optimizers of
// Keras 2.6. Level 2.
#pragma once

#include <cstdint>

namespace stagecraft::optimizers {

/// What is left of a learning rate in weight update `step`, which counts from 1: learning_rate / (1 + decay (step -
/// 1)). An optimizer without a member `decay` keeps its rate. Definition: OptimizerV2._decayed_lr.
template <class Optimizer>
[[nodiscard]] constexpr float decayed_rate(Optimizer const& optimizer, float learning_rate, std::int64_t step) {
  if constexpr (requires { optimizer.decay; })
    return learning_rate / (1.0F + optimizer.decay * static_cast<float>(step - 1));
  else
    return learning_rate;
}

}  // namespace stagecraft::optimizers
