// SPDX-License-Identifier: BSD-3-Clause
// The steps of dropout on the host: no mask is stored, the backward step draws the same numbers again. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/dropout.hpp>
#include <stagecraft/layers/dropout.hpp>

namespace stagecraft {

template <>
struct operation<layers::dropout> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  // Each call of each step draws from a sequence of its own, which is none of the weights' first values either.
  template <class Call>
  static kernels::random_key key(Call const& call) {
    auto const seed = Call::layer.seed != 0 ? Call::layer.seed : call.memory.seed;
    return {seed, ~((call.memory.step << 16U) + static_cast<std::uint64_t>(Call::call))};
  }

  template <class Call>
  static void forward(Call const& call) {
    if constexpr (!Call::planned.needs.view) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::dropout<typename Call::architecture>(call.input(0) + first, call.output() + first, last - first,
                                                    Call::layer.rate, key(call), static_cast<std::uint64_t>(first));
    }
  }

  template <int Input, class Call>
  [[nodiscard]] static auto epilogue(Call const& call, float* /*workspace*/) {
    return kernels::dropout_epilogue{Call::layer.rate, key(call)};
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (!Call::planned.needs.view && Call::wants_input_gradient(0)) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::dropout_backward<Call::adds_input_gradient(0), typename Call::architecture>(
          call.output_gradient() + first, call.input_gradient(0) + first, last - first, Call::layer.rate, key(call),
          static_cast<std::uint64_t>(first));
    }
  }
};

}  // namespace stagecraft
