// SPDX-License-Identifier: BSD-3-Clause
// Lowering of activations: behind the sums of a layer with a kernel, and layers of their own.
#pragma once

#include <stagecraft/activations/activation_formula.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The activation behind a layer's sums (with its bias), into Call::output. The sums may be the output already, or
/// Call::saved. While training they are kept from float number `saved_offset` of what is saved on, if the activation's
/// gradient needs them.
template <class Call>
constexpr void append_activation(lowered_step& step, activation const& function, int sums,
                                 std::int64_t saved_offset = 0) {
  int const output = Call::output(step);
  if (Call::trains && Call::planned.needs.saved > 0 && function.gradient_needs_input()) {
    int const saved = Call::saved(step, static_cast<int>(saved_offset), Call::output_elements());
    if (saved != sums) append_map(step, map_function::copy, saved, {{sums}});
  }
  if (function.kind == activation_kind::softmax) {
    std::int64_t const columns = Call::output_shape().back();
    append_softmax(step, sums, output, Call::output_elements() / columns, columns, 1);
  } else if (function != linear) {
    append_activation_map(step, function, sums, output, own_formula<Call::layer.activation, false>());
  } else if (sums != output) {
    append_map(step, map_function::copy, output, {{sums}});
  }
}

/// The gradient of a layer's sums from that of its output, which it takes the place of. Nothing is done if the
/// activation is linear, or its reader has applied its gradient already.
template <class Call>
constexpr int append_activation_gradient(lowered_step& step, activation const& function,
                                         std::int64_t saved_offset = 0) {
  int const gradient = Call::output_gradient(step);
  if (Call::planned.activation_in_consumer || function == linear) return gradient;
  if (function.kind == activation_kind::softmax) {
    std::int64_t const columns = Call::output_shape().back();
    append_softmax_gradient(step, gradient, Call::output(step), gradient, Call::output_elements() / columns, columns,
                            1);
  } else {
    int const known = function.gradient_needs_input()
                          ? Call::saved(step, static_cast<int>(saved_offset), Call::output_elements())
                          : Call::output(step);
    append_activation_gradient_map(step, function, gradient, known, gradient,
                                   own_formula<Call::layer.activation, true>());
  }
  return gradient;
}

}  // namespace stagecraft::tiles
