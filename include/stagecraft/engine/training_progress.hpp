// SPDX-License-Identifier: BSD-3-Clause
// How far a training has come: what it needs to go on, beside the weights and what the optimizer keeps with them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>

namespace stagecraft::engine {

/// Counters of a model in training.
struct training_progress {
  std::uint64_t seed = 1;    ///< dropout and shuffling follow from it
  std::uint64_t fits = 0;    ///< calls of `fit` that began at epoch 0: each has orders of samples of its own
  std::int64_t epochs = 0;   ///< epochs of the last `fit` that have ended, from epoch 0 on: the next one begins there
  std::uint64_t steps = 0;   ///< micro-batches of all replicas
  std::int64_t updates = 0;  ///< updates of the weights: Keras's `optimizer.iterations`
  float learning_rate = 0;   ///< the optimizer's, as callbacks have left it
  float loss_scale = 1;      ///< factor of losses, if the optimizer adapts it
  std::int32_t good_steps = 0;  ///< updates since that has changed
  std::int64_t overflowed = 0;  ///< gradients since then that did not fit float16

  friend constexpr bool operator==(training_progress const&, training_progress const&) = default;
};

}  // namespace stagecraft::engine
