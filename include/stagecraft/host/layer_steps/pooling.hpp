// SPDX-License-Identifier: BSD-3-Clause
// The steps of pooling layers on the host: those with windows (max_pooling1d, max_pooling2d, average_pooling1d,
// average_pooling2d) and those that take the largest value of all positions of a sample; and of bilinear up-sampling.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/pooling/average_pooling.hpp>
#include <stagecraft/kernels/pooling/global_pooling.hpp>
#include <stagecraft/kernels/pooling/max_pooling.hpp>
#include <stagecraft/kernels/pooling/up_sampling.hpp>
#include <stagecraft/layers/reshaping/up_sampling.hpp>

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
struct kernel_steps<layer_kernel::max_pooling, L> : max_pooling_operation {};
template <class L>
struct kernel_steps<layer_kernel::average_pooling, L> : average_pooling_operation {};

struct global_max_pooling_operation {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::global_max_pooling<Call::batch, positions<Call>, channels<Call>, typename Call::architecture>(
        call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0))
      kernels::global_max_pooling_gradient<Call::batch, positions<Call>, channels<Call>, Call::adds_input_gradient(0),
                                           typename Call::architecture>(
          call.input(0), call.output(), call.output_gradient(), call.input_gradient(0), call.share());
  }

 private:
  template <class Call>
  static constexpr int channels = Call::input_shape(0).back();
  template <class Call>
  static constexpr int positions = Call::input_shape(0).size() / channels<Call>;
};

template <class L>
struct kernel_steps<layer_kernel::global_max_pooling, L> : global_max_pooling_operation {};

template <>
struct layer_steps<layers::up_sampling2d> : call_steps {
  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }
  template <class Call>
  static void forward(Call const& call) {
    if constexpr (interpolates<Call>)
      call.divide([](Call const& part) {
        kernels::up_sampling_bilinear<Call::batch, shape<Call>, typename Call::architecture>(
            part.input(0), part.output(), part.share());
      });
    else
      call_steps::forward(call);
  }
  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!interpolates<Call>)
      call_steps::backward(call);
    else if constexpr (Call::wants_input_gradient(0))
      call.divide([](Call const& part) {
        kernels::up_sampling_bilinear_gradient<Call::batch, shape<Call>, Call::adds_input_gradient(0),
                                               typename Call::architecture>(part.output_gradient(),
                                                                            part.input_gradient(0), part.share());
      });
  }

 private:
  template <class Call>
  static constexpr bool interpolates = Call::layer.interpolation == interpolation::bilinear;
  template <class Call>
  static constexpr kernels::up_sampling_shape shape{.height = Call::input_shape(0)[0],
                                                    .width = Call::input_shape(0)[1],
                                                    .channels = Call::input_shape(0)[2],
                                                    .factor_height = Call::layer.size.height,
                                                    .factor_width = Call::layer.size.width};
};

}  // namespace stagecraft::cpu
