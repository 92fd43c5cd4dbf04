// SPDX-License-Identifier: BSD-3-Clause
// The steps of up-sampling on the host. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/up_sampling.hpp>
#include <stagecraft/layers/up_sampling1d.hpp>
#include <stagecraft/layers/up_sampling2d.hpp>

namespace stagecraft {

namespace detail {

/// A sequence is an image of one column, so that threads share its steps.
constexpr kernels::up_sampling_shape up_sampling_shape_of(layers::up_sampling1d const& layer, shape const& in) {
  return {.height = in[0], .channels = in[1], .factor_height = layer.size};
}
constexpr kernels::up_sampling_shape up_sampling_shape_of(layers::up_sampling2d const& layer, shape const& in) {
  return {.height = in[0],
          .width = in[1],
          .channels = in[2],
          .factor_height = layer.size.height,
          .factor_width = layer.size.width};
}
constexpr interpolation interpolation_of_layer(layers::up_sampling1d const&) { return interpolation::nearest; }
constexpr interpolation interpolation_of_layer(layers::up_sampling2d const& layer) { return layer.interpolation; }

struct up_sampling_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::up_sampling_shape shape = up_sampling_shape_of(Call::layer, Call::input_shape(0));
  template <class Call>
  static constexpr bool repeats = interpolation_of_layer(Call::layer) == interpolation::nearest;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (repeats<Call>)
      kernels::up_sampling_nearest<Call::batch, shape<Call>, arch>(call.input(0), call.output(), call.share());
    else
      kernels::up_sampling_bilinear<Call::batch, shape<Call>, arch>(call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool adds = Call::adds_input_gradient(0);
      if constexpr (repeats<Call>)
        kernels::up_sampling_nearest_gradient<Call::batch, shape<Call>, adds, arch>(
            call.output_gradient(), call.input_gradient(0), call.share());
      else
        kernels::up_sampling_bilinear_gradient<Call::batch, shape<Call>, adds, arch>(
            call.output_gradient(), call.input_gradient(0), call.share());
    }
  }
};

}  // namespace detail

template <>
struct operation<layers::up_sampling2d> : detail::up_sampling_operation {};
template <>
struct operation<layers::up_sampling1d> : detail::up_sampling_operation {};

}  // namespace stagecraft
