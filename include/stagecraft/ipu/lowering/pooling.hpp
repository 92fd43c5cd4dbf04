// SPDX-License-Identifier: BSD-3-Clause
// Lowering of layers with windows: max_pooling1d, max_pooling2d, average_pooling1d, average_pooling2d, and up-sampling.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/traced.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/layers/padding.hpp>
#include <stagecraft/layers/reshaping/up_sampling.hpp>
#include <cstdint>

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

/// Saves the winning cell of each window, in the same bytes as the host.
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

/// Repeats elements; the gradient sums over the repetitions.
struct nearest_up_sampling_lowering {
  template <class Call>
  static constexpr void append_forward(lowered_step& step, box_axes const& axes, size_2d const& factor) {
    append_repeat(step, Call::input(step), Call::output(step),
                  {axes[0], axes[1], axes[2], axes[3], factor.height, factor.width});
  }
  template <class Call>
  static constexpr void append_backward(lowered_step& step, box_axes const& axes, size_2d const& factor) {
    if (!Call::wants_input_gradient(0)) return;
    append_pool(step, pool_function::sum, {Call::output_gradient(step)}, {Call::input_gradient(step)},
                {.batch = axes[0],
                 .rows = repeated(axes[1], factor.height),
                 .columns = repeated(axes[2], factor.width),
                 .channels = axes[3]},
                Call::target);
  }

 private:
  static constexpr pool_axis repeated(std::int64_t length, std::int64_t factor) {
    return {.input = length * factor, .window = factor, .stride = factor, .output = length};
  }
};

template <>
struct lowering<layers::up_sampling1d> : private nearest_up_sampling_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_forward<Call>(step, axes<Call>(), {Call::layer.size, 1});
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    append_backward<Call>(step, axes<Call>(), {Call::layer.size, 1});
  }

 private:
  template <class Call>
  static constexpr box_axes axes() {
    return {Call::batch, Call::input_shape()[0], 1, Call::input_shape()[1]};
  }
};

template <>
struct lowering<layers::up_sampling2d> : private nearest_up_sampling_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if (Call::layer.interpolation == interpolation::nearest)
      append_forward<Call>(step, axes<Call>(), Call::layer.size);
    else
      append_pool(step, pool_function::bilinear, {Call::input(step)}, {Call::output(step)}, shape<Call>(),
                  Call::target);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (Call::layer.interpolation == interpolation::nearest)
      append_backward<Call>(step, axes<Call>(), Call::layer.size);
    else if (Call::wants_input_gradient(0))
      append_pool(step, pool_function::bilinear_gradient, {Call::output_gradient(step)}, {Call::input_gradient(step)},
                  shape<Call>(), Call::target);
  }

 private:
  template <class Call>
  static constexpr box_axes axes() {
    auto const& in = Call::input_shape();
    return {Call::batch, in[0], in[1], in[2]};
  }
  template <class Call>
  static constexpr pool_shape shape() {
    auto const& in = Call::input_shape();
    return {.batch = Call::batch,
            .rows = pool_axis::interpolated(in[0], Call::layer.size.height),
            .columns = pool_axis::interpolated(in[1], Call::layer.size.width),
            .channels = in[2]};
  }
};

}  // namespace stagecraft::tiles
