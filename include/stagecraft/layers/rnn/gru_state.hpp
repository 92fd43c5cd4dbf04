// SPDX-License-Identifier: BSD-3-Clause
// The formula of gated recurrent units: of gru and gru_cell.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <array>

namespace stagecraft::layers::detail {

/// The next state from the products p of the input and the state before; `h` is that state as the recurrent kernel sees
/// it. `recurrent_bias` counts with `reset_after` alone.
constexpr auto gru_state(auto& ops, auto const& options, int units, auto p, auto before, auto h, auto recurrent_kernel,
                         auto recurrent_bias) {
  auto const a = options.activation;
  auto const s = options.recurrent_activation;
  auto const gate = [&](auto product, int index, int count = 1) {
    return ops.slice(product, -1, index * units, count * units);
  };
  auto const mix = [&](auto update, auto candidate) {
    return std::array{update * before + (1.0F - update) * candidate};
  };
  if (options.reset_after) {
    auto q = ops.matmul(h, recurrent_kernel);
    if (options.use_bias) q += recurrent_bias;
    auto const update = s(gate(p, 0) + gate(q, 0));
    auto const reset = s(gate(p, 1) + gate(q, 1));
    return mix(update, a(gate(p, 2) + reset * gate(q, 2)));
  }
  auto const q = ops.matmul(h, gate(recurrent_kernel, 0, 2));
  auto const update = s(gate(p, 0) + gate(q, 0));
  auto const reset = s(gate(p, 1) + gate(q, 1));
  return mix(update, a(gate(p, 2) + ops.matmul(reset * h, gate(recurrent_kernel, 2))));
}

}  // namespace stagecraft::layers::detail
