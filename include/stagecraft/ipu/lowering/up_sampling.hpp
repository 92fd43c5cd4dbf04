// SPDX-License-Identifier: BSD-3-Clause
// Lowering of up-sampling.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/layers/reshaping/up_sampling.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Repetition; its gradient sums over the repetitions.
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
