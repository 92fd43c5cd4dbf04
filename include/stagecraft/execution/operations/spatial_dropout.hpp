// SPDX-License-Identifier: BSD-3-Clause
// The steps of spatial dropout on the host: no mask is stored, the backward step draws the same numbers again. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/execution/random_key_of_call.hpp>
#include <stagecraft/kernels/spatial_dropout.hpp>
#include <stagecraft/layers/spatial_dropout1d.hpp>
#include <stagecraft/layers/spatial_dropout2d.hpp>

namespace stagecraft {

namespace detail {

struct spatial_dropout_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    run<false>(call, call.input(0), call.output());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      run<Call::adds_input_gradient(0)>(call, call.output_gradient(), call.input_gradient(0));
  }

 private:
  template <bool Accumulate, class Call>
  static void run(Call const& call, float const* x, float* y) {
    constexpr int channels = Call::input_shape(0).back();
    constexpr int positions = Call::input_shape(0).size() / channels;
    kernels::spatial_dropout<Call::batch, positions, channels, Accumulate, typename Call::architecture>(
        x, y, Call::layer.rate, random_key_of_call(call, Call::layer.seed), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::spatial_dropout2d> : detail::spatial_dropout_operation {};
template <>
struct operation<layers::spatial_dropout1d> : detail::spatial_dropout_operation {};

}  // namespace stagecraft
