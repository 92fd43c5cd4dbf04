// SPDX-License-Identifier: BSD-3-Clause
// Cycles of losses and their gradients from probabilities and expected values: popnn's LossSumSquaredTransform and
// LossCrossEntropyTransform.
#pragma once

#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// The loss of `elements` predicted values and the gradient for each: squared differences, or cross entropy after
/// softmax. A vertex of one worker.
///
/// Source: poplibs, lib/popnn/PerformanceEstimation.hpp, getLossTransformCycles.
struct loss_transform {
  bool is_cross_entropy = true;
  dtype type = dtype::float32;  ///< float32 or float16
  std::int64_t elements = 0;

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles() const noexcept {
    bool const is_half = type == dtype::float16;
    std::int64_t const loop = (is_cross_entropy ? 9 : 4) * (is_half ? elements / 2 : elements);
    std::int64_t const last = is_half && elements % 2 != 0 ? (is_cross_entropy ? 11 : 6) : 0;
    return 5 + (is_cross_entropy ? 6 : 5) + 5 + 2 + 1 + loop + (is_half ? 1 + 2 : 0) + last + 1;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return is_cross_entropy ? 6 * elements + 2 : 3 * elements;
  }
};

}  // namespace stagecraft::vertices
