// SPDX-License-Identifier: BSD-3-Clause
// The steps of the layers on the host that take the largest value of all positions of a sample.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/pooling/global_pooling.hpp>

namespace stagecraft::cpu {

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
struct kernel_operation<layer_kernel::global_max_pooling, L> : global_max_pooling_operation {};

}  // namespace stagecraft::cpu
