// SPDX-License-Identifier: BSD-3-Clause
// Lowering of the pooling layers with windows: max_pooling1d, max_pooling2d, average_pooling1d and average_pooling2d.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/layers/padding.hpp>

namespace stagecraft::tiles {

constexpr pool_axis pool_axis_of(sliding_window const& window) {
  return {.input = window.input,
          .window = window.window,
          .stride = window.stride,
          .before = window.before(),
          .output = window.output()};
}

template <class Call>
inline constexpr pool_shape pool_shape_of{.batch = Call::batch,
                                          .rows = pool_axis_of(Call::layer.rows(Call::input_shape())),
                                          .columns = pool_axis_of(Call::layer.columns(Call::input_shape())),
                                          .channels = Call::input_shape().back()};

/// Keeps, for each output, which cell of its window it came from, in the bytes that the host keeps it in.
struct max_pooling_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const input = Call::input(step), output = Call::output(step);
    if (Call::planned.needs.saved > 0)
      append_pool(step, pool_function::max, {input}, {output, positions<Call>(step)}, pool_shape_of<Call>,
                  Call::target);
    else
      append_pool(step, pool_function::max, {input}, {output}, pool_shape_of<Call>, Call::target);
  }
  /// The value of a window's winner is the output: what an activation before the pooling needs for its gradient.
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (!Call::wants_input_gradient(0)) return;
    int const gradient = Call::output_gradient(step);
    if (auto const function = Call::applied_activation(0); function != linear)
      append_activation_gradient_map(step, function, gradient, Call::output(step), gradient);
    append_pool(step, pool_function::max_gradient, {positions<Call>(step), gradient}, {Call::input_gradient(step)},
                pool_shape_of<Call>, Call::target);
  }

 private:
  template <class Call>
  static constexpr int positions(lowered_step& step) {
    return Call::saved(step, 0, Call::output_elements() * pool_shape_of<Call>.position_bytes(), dtype::uint8);
  }
};

struct average_pooling_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_pool(step, pool_function::average, {Call::input(step)}, {Call::output(step)}, pool_shape_of<Call>,
                Call::target);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (!Call::wants_input_gradient(0)) return;
    append_pool(step, pool_function::average_gradient, {Call::output_gradient(step)}, {Call::input_gradient(step)},
                pool_shape_of<Call>, Call::target);
  }
};

template <class L>
struct kernel_lowering<layer_kernel::max_pooling, L> : max_pooling_lowering {};
template <class L>
struct kernel_lowering<layer_kernel::average_pooling, L> : average_pooling_lowering {};

}  // namespace stagecraft::tiles
