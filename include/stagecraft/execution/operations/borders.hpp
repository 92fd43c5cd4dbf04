// SPDX-License-Identifier: BSD-3-Clause
// The steps of zero padding and cropping on the host: each is the other's backward step. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/borders.hpp>
#include <stagecraft/layers/cropping1d.hpp>
#include <stagecraft/layers/cropping2d.hpp>
#include <stagecraft/layers/zero_padding1d.hpp>
#include <stagecraft/layers/zero_padding2d.hpp>

namespace stagecraft {

namespace detail {

/// `inner` is the smaller image. A sequence is an image of one column, so that threads share its steps.
constexpr kernels::border_shape border_shape_of(shape const& inner, border const& steps) {
  return {.height = inner[0], .channels = inner[1], .top = steps.before, .bottom = steps.after};
}
constexpr kernels::border_shape border_shape_of(shape const& inner, border_2d const& border) {
  return {.height = inner[0],
          .width = inner[1],
          .channels = inner[2],
          .top = border.rows.before,
          .left = border.columns.before,
          .bottom = border.rows.after,
          .right = border.columns.after};
}

struct padding_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::border_shape shape = border_shape_of(Call::input_shape(0), Call::layer.padding);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::add_border<Call::batch, shape<Call>, false, typename Call::architecture>(call.input(0), call.output(),
                                                                                      call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::remove_border<Call::batch, shape<Call>, Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), call.share());
  }
};

struct cropping_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::border_shape shape = border_shape_of(Call::output_shape(), Call::layer.cropping);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::remove_border<Call::batch, shape<Call>, false, typename Call::architecture>(call.input(0), call.output(),
                                                                                         call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::add_border<Call::batch, shape<Call>, Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient(), call.input_gradient(0), call.share());
  }
};

}  // namespace detail

template <>
struct operation<layers::zero_padding2d> : detail::padding_operation {};
template <>
struct operation<layers::zero_padding1d> : detail::padding_operation {};
template <>
struct operation<layers::cropping2d> : detail::cropping_operation {};
template <>
struct operation<layers::cropping1d> : detail::cropping_operation {};

}  // namespace stagecraft
