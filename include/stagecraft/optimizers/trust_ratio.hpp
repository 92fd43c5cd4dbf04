// SPDX-License-Identifier: BSD-3-Clause
// By how much the step of a weight is scaled so that it is as large, beside the weight, as that of any other weight.
// Counterpart: the layer adaptation of tfa.optimizers.LAMB.
#pragma once

namespace stagecraft::optimizers {

/// `times` |weight| / |step|, norms of the whole weight; 1 where one of them is 0.
[[nodiscard]] constexpr auto trust_ratio(auto& ops, auto weight, auto step, float times = 1) {
  auto const of_weight = ops.norm(weight), of_step = ops.norm(step);
  return where(of_weight > 0.0F, where(of_step > 0.0F, of_weight * times / of_step, 1.0F), 1.0F);
}

}  // namespace stagecraft::optimizers
