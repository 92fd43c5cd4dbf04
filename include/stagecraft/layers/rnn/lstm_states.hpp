// SPDX-License-Identifier: BSD-3-Clause
// The formula of long short-term memory: of lstm, lstm_cell and the convolutional ones.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <array>

namespace stagecraft::layers::detail {

/// The next h and c from the c before and `gate(i)`, the sums of gates i, f, g and o.
constexpr auto lstm_states(stagecraft::activation const& a, stagecraft::activation const& r, auto const& gate,
                           auto before) {
  auto const kept = r(gate(1)) * before;
  auto const c = kept + r(gate(0)) * a(gate(2));
  auto const open = r(gate(3));
  return std::array{open * a(c), c};
}

}  // namespace stagecraft::layers::detail
