// SPDX-License-Identifier: BSD-3-Clause
// The steps on the host of a layer that is nothing but the activation that the loss applies: its logits are handed on.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <algorithm>

namespace stagecraft::cpu {

template <class Call>
void hand_logits_on(Call const& call) {
  auto const [first, last] = call.elements(static_cast<long long>(Call::batch) * Call::size);
  std::copy(call.input(0) + first, call.input(0) + last, call.output() + first);
}

template <class Call>
void hand_logits_gradient_back(Call const& call) {
  if constexpr (Call::wants_input_gradient(0)) {
    auto const [first, last] = call.elements(static_cast<long long>(Call::batch) * Call::size);
    if constexpr (Call::adds_input_gradient(0))
      kernels::scaled_add<true, typename Call::architecture>(1.0F, call.output_gradient() + first,
                                                             call.input_gradient(0) + first, last - first);
    else
      std::copy(call.output_gradient() + first, call.output_gradient() + last, call.input_gradient(0) + first);
  }
}

}  // namespace stagecraft::cpu
