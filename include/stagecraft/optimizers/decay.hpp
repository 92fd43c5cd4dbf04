// SPDX-License-Identifier: BSD-3-Clause
// The learning rate that falls with each weight update. Keras counterpart: the argument `decay` of the optimizers of
// Keras 2.6.
#pragma once

namespace stagecraft::optimizers {

/// What is left of the learning rate in an update: learning_rate / (1 + decay (step - 1)).
/// Definition: OptimizerV2._decayed_lr.
[[nodiscard]] constexpr auto decayed_rate(auto& ops, float decay) {
  auto const rate = ops.learning_rate();
  return decay == 0 ? rate : rate / ((ops.step() - 1) * decay + 1);
}

}  // namespace stagecraft::optimizers
