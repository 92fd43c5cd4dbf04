// SPDX-License-Identifier: BSD-3-Clause
// The loss of one output on the host, its gradient, and the step from logits to the output.
#pragma once

#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/kernels/normalization/softmax.hpp>
#include <stagecraft/plan/logits.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::cpu {

/// The loss of an output's batch, of which `valid_samples` count. Its gradient is scaled by `factor`.
template <class Shape, std::size_t Output, class Arch>
float loss_step(float const* prediction, void const* targets, float const* scale, loss_gradient const& gradient,
                float factor, int valid_samples) {
  constexpr auto loss = computed_loss_of<typename Shape::described, Output>;
  constexpr int columns = Shape::output_shape(Output).size() / Shape::scales_per_sample(Output);
  constexpr int rows = Shape::batch * Shape::scales_per_sample(Output);
  constexpr auto floats = static_cast<std::int64_t>(rows) * columns;
  float* const written = gradient.scratch != nullptr ? gradient.scratch : gradient.to;
  float const result = kernels::loss<loss, rows, columns, Arch>(
      static_cast<typename Shape::template target_type<Output> const*>(targets), prediction, scale, written, nullptr,
      std::int64_t{valid_samples} * Shape::scales_per_sample(Output));
  if (written == nullptr) return result;
  if (factor != 1.0F) kernels::scaled_add<false, Arch>(factor, written, written, floats);
  if (gradient.scratch != nullptr) kernels::scaled_add<true, Arch>(1.0F, written, gradient.to, floats);
  return result;
}

/// Turns logits that the loss takes into the model's output, in their place, after the loss or in place of it.
template <class Shape, std::size_t Output, class Arch>
void output_step(float* value, kernels::share const& part = {}) {
  if constexpr (takes_logits<typename Shape::described, Output>) {
    constexpr activation function = last_activations_of<typename Shape::described::model>[Output].function;
    constexpr int columns = Shape::output_shape(Output).back();
    constexpr int rows = Shape::batch * Shape::rows_per_sample(Output);
    if constexpr (function.kind == activation_kind::softmax) {
      kernels::softmax<rows, columns, Arch>(value, value, part);
    } else {
      auto const [first, last] = part.of(static_cast<std::int64_t>(rows) * columns, 16);
      kernels::activation_forward<function, Arch>(value + first, value + first, last - first);
    }
  }
}

}  // namespace stagecraft::cpu
