// SPDX-License-Identifier: BSD-3-Clause
// How losses take probabilities.
#pragma once

#include <stagecraft/operations/tensor.hpp>

namespace stagecraft::losses::detail {

/// What Keras clips probabilities to: [epsilon, 1 - epsilon] (tf.keras.backend.epsilon).
inline constexpr float probability_epsilon = 1e-7F;

/// Limited to these; where that changes a probability, its gradient is 0.
constexpr operations::tensor clip_probability(operations::tensor p) {
  return maximum(minimum(p, 1 - probability_epsilon), probability_epsilon);
}

}  // namespace stagecraft::losses::detail
