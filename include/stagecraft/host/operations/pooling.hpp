// SPDX-License-Identifier: BSD-3-Clause
// The steps of the pooling layers with windows on the host: max_pooling1d, max_pooling2d, average_pooling1d and
// average_pooling2d.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/pooling/average_pooling.hpp>
#include <stagecraft/kernels/pooling/max_pooling.hpp>

namespace stagecraft::cpu {

template <class Call>
inline constexpr kernels::pooling_shape pooling_shape_of = [] {
  auto const& in = Call::input_shape(0);
  auto const rows = Call::layer.rows(in), columns = Call::layer.columns(in);
  return kernels::pooling_shape{.height = rows.input,
                                .width = columns.input,
                                .channels = in.back(),
                                .pool_height = rows.window,
                                .pool_width = columns.window,
                                .stride_height = rows.stride,
                                .stride_width = columns.stride,
                                .top = rows.before(),
                                .left = columns.before(),
                                .bottom = rows.after(),
                                .right = columns.after()};
}();

/// Keeps, for each output, which cell of its window it came from: the backward step reads neither inputs nor outputs.
struct max_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::max_pooling<Call::batch, pooling_shape_of<Call>, typename Call::architecture>(
        call.input(0), call.output(),
        Call::trains ? kernels::positions_in<pooling_shape_of<Call>>(call.saved()) : nullptr, call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::max_pooling_gradient<Call::batch, pooling_shape_of<Call>, Call::adds_input_gradient(0),
                                    typename Call::architecture>(
          kernels::positions_in<pooling_shape_of<Call>>(call.saved()), call.output_gradient(), call.input_gradient(0),
          epilogue(call), call.share());
  }

 private:
  // The value of a window's winner is the output: what an activation before the pooling needs for its gradient.
  template <class Call>
  static auto epilogue([[maybe_unused]] Call const& call) {
    constexpr auto function = Call::applied_activation(0);
    if constexpr (function == linear)
      return kernels::no_epilogue{};
    else
      return kernels::activation_gradient_epilogue<function, typename Call::architecture>{call.output()};
  }
};

struct average_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::average_pooling<Call::batch, pooling_shape_of<Call>, typename Call::architecture>(
        call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::average_pooling_gradient<Call::batch, pooling_shape_of<Call>, Call::adds_input_gradient(0),
                                        typename Call::architecture>(call.output_gradient(), call.input_gradient(0),
                                                                     call.share());
  }
};

template <class L>
struct kernel_operation<layer_kernel::max_pooling, L> : max_pooling_operation {};
template <class L>
struct kernel_operation<layer_kernel::average_pooling, L> : average_pooling_operation {};

}  // namespace stagecraft::cpu
