// SPDX-License-Identifier: BSD-3-Clause
// Lowering of dropout, spatial_dropout1d and spatial_dropout2d: no mask is kept, the backward step draws the same
// numbers again. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/layers/spatial_dropout1d.hpp>
#include <stagecraft/layers/spatial_dropout2d.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

namespace detail {

/// With or without a number for each channel of a sample.
template <bool OfChannels>
struct dropout_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append<Call>(step, Call::input(step), Call::output(step), false);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (Call::wants_input_gradient(0))
      append<Call>(step, Call::output_gradient(step), Call::input_gradient(step), true);
  }

 private:
  template <class Call>
  static constexpr void append(lowered_step& step, int from, int to, bool gradient) {
    constexpr int channels = Call::output_shape().back();
    append_dropout(step, from, to, Call::layer.rate, Call::layer.seed, gradient,
                   OfChannels ? Call::output_shape().size() / channels : 0, OfChannels ? channels : 0);
  }
};

}  // namespace detail

template <>
struct lowering<layers::spatial_dropout1d> : detail::dropout_lowering<true> {};
template <>
struct lowering<layers::spatial_dropout2d> : detail::dropout_lowering<true> {};

}  // namespace stagecraft
