// SPDX-License-Identifier: BSD-3-Clause
// The steps of activation on the host. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/execution/operations/logits.hpp>
#include <stagecraft/kernels/activation.hpp>
#include <stagecraft/kernels/softmax.hpp>
#include <stagecraft/layers/activation.hpp>

namespace stagecraft {

template <>
struct operation<layers::activation> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;
  template <class Call>
  static constexpr int columns = Call::output_shape().back();
  template <class Call>
  static constexpr int rows = static_cast<int>(floats<Call> / columns<Call>);

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    constexpr auto function = Call::layer.function;
    using arch = typename Call::architecture;
    if constexpr (Call::planned.activation_in_loss) {
      detail::hand_logits_on(call);
    } else if constexpr (function.kind == activation_kind::softmax) {
      kernels::softmax<rows<Call>, columns<Call>, arch>(call.input(0), call.output(), call.share());
    } else if constexpr (function != linear) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::activation_forward<function, arch>(call.input(0) + first, call.output() + first, last - first);
    }
  }

  template <class Call>
  static void backward(Call const& call) {
    constexpr auto function = Call::layer.function;
    using arch = typename Call::architecture;
    if constexpr (Call::planned.activation_in_loss) {
      detail::hand_logits_gradient_back(call);
    } else if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool add = Call::adds_input_gradient(0);
      if constexpr (function.kind == activation_kind::softmax) {
        kernels::softmax_gradient<rows<Call>, columns<Call>, add, arch>(call.output(), call.output_gradient(),
                                                                        call.input_gradient(0), call.share());
      } else if constexpr (function != linear) {
        auto const [first, last] = call.elements(floats<Call>);
        kernels::activation_backward<function, add, arch>(
            (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
            call.input_gradient(0) + first, last - first);
      }
    }
  }
};

}  // namespace stagecraft
