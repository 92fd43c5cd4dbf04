// SPDX-License-Identifier: BSD-3-Clause
// Lowering of the layers that reduce all positions of a sample. Level 4.
#pragma once

#include <stagecraft/ipu/operations/pool.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/layers/global_average_pooling1d.hpp>
#include <stagecraft/layers/global_average_pooling2d.hpp>
#include <stagecraft/layers/global_max_pooling1d.hpp>
#include <stagecraft/layers/global_max_pooling2d.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <cstdint>

namespace stagecraft {

namespace detail {

/// `Reduce` makes the outputs, popops' way; `Gradient` the inputs' gradients, as that of a window over all positions.
template <reduce_function Reduce, pool_function Gradient>
struct global_pooling_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_reduce(step, Reduce, {Call::input(step)}, Call::output(step), Call::batch, positions<Call>,
                  Call::input_shape().back());
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (!Call::wants_input_gradient(0)) return;
    constexpr pool_shape shape{
        .batch = Call::batch,
        .rows = {},
        .columns = {.input = positions<Call>, .window = positions<Call>, .stride = positions<Call>},
        .channels = Call::input_shape().back()};
    if constexpr (Gradient == pool_function::max_share_gradient)
      append_pool(step, Gradient, {Call::input(step), Call::output(step), Call::output_gradient(step)},
                  {Call::input_gradient(step)}, shape, Call::target);
    else
      append_pool(step, Gradient, {Call::output_gradient(step)}, {Call::input_gradient(step)}, shape, Call::target);
  }

 private:
  template <class Call>
  static constexpr std::int64_t positions = Call::input_shape().size() / Call::input_shape().back();
};

using global_average_pooling_lowering = global_pooling_lowering<reduce_function::mean, pool_function::average_gradient>;
using global_max_pooling_lowering =
    global_pooling_lowering<reduce_function::maximum, pool_function::max_share_gradient>;

}  // namespace detail

template <>
struct lowering<layers::global_average_pooling2d> : detail::global_average_pooling_lowering {};
template <>
struct lowering<layers::global_average_pooling1d> : detail::global_average_pooling_lowering {};
template <>
struct lowering<layers::global_max_pooling2d> : detail::global_max_pooling_lowering {};
template <>
struct lowering<layers::global_max_pooling1d> : detail::global_max_pooling_lowering {};

}  // namespace stagecraft
