// SPDX-License-Identifier: BSD-3-Clause
// The loss of one output on the host, and its gradient. Level 5.
#pragma once

#include <stagecraft/execution/session_shape.hpp>
#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/kernels/loss.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::detail {

/// Where a loss's gradient goes: `to`, or, if something is there already, `scratch`, from where it is added.
struct loss_gradient {
  float* to = nullptr;  ///< null: nobody wants it
  float* scratch = nullptr;
};

/// The loss of an output's batch. Its gradient is scaled by `factor`.
template <class Shape, auto Training, std::size_t Output, class Arch>
float loss_step(float const* prediction, void const* targets, float const* scale, loss_gradient const& gradient,
                float factor) {
  constexpr auto loss = losses::loss_of_output<Output>(Training.loss);
  constexpr int columns = Shape::output_shape(Output).back();
  constexpr int rows = Shape::batch * Shape::rows_per_sample(Output);
  constexpr auto floats = static_cast<std::int64_t>(rows) * columns;
  float* const written = gradient.scratch != nullptr ? gradient.scratch : gradient.to;
  float const result = kernels::loss<loss, rows, columns, Arch>(
      static_cast<typename Shape::template target_type<Output> const*>(targets), prediction, scale, written);
  if (written == nullptr) return result;
  if (factor != 1.0F) kernels::scaled_add<false, Arch>(factor, written, written, floats);
  if (gradient.scratch != nullptr) kernels::scaled_add<true, Arch>(1.0F, written, gradient.to, floats);
  return result;
}

}  // namespace stagecraft::detail
