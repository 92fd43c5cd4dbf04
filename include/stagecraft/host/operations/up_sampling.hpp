// SPDX-License-Identifier: BSD-3-Clause
// The steps of bilinear up-sampling on the host; repetition is what the layer's call says.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/pooling/up_sampling.hpp>
#include <stagecraft/layers/reshaping/up_sampling.hpp>

namespace stagecraft::cpu {

template <>
struct operation<layers::up_sampling2d> : call_operation {
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
      call_operation::forward(call);
  }
  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!interpolates<Call>)
      call_operation::backward(call);
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
