// SPDX-License-Identifier: BSD-3-Clause
// The steps of concatenate on the host. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/layers/concatenate.hpp>
#include <utility>

namespace stagecraft {

template <>
struct operation<layers::concatenate> {
  static constexpr bool divides = true;

  /// Each input is `outer` blocks, which lie `stride` floats apart in the output.
  template <class Call>
  struct blocks {
    static constexpr int axis = Call::layer.shape_axis(Call::output_shape());
    static constexpr int outer = Call::batch * Call::output_shape().size(0, axis);
    static constexpr int stride = Call::output_shape().size(axis, Call::output_shape().rank());
    static constexpr int length(int input) {
      return Call::input_shape(input).size(axis, Call::input_shape(input).rank());
    }
    static constexpr int begin(int input) {
      int sum = 0;
      for (int i = 0; i < input; ++i) sum += length(i);
      return sum;
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using b = blocks<Call>;
    auto const [first, last] = call.share().of(b::outer);
    for (int i = 0; i < Call::input_count; ++i)
      kernels::copy_blocks<false, typename Call::architecture>(
          last - first, b::length(i), call.input(i) + first * b::length(i), b::length(i),
          call.output() + first * b::stride + b::begin(i), b::stride);
  }

  template <class Call>
  static void backward(Call const& call) {
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      (input_backward<Index>(call), ...);
    }(std::make_integer_sequence<int, Call::input_count>{});
  }

 private:
  template <int Index, class Call>
  static void input_backward(Call const& call) {
    using b = blocks<Call>;
    if constexpr (Call::wants_input_gradient(Index)) {
      auto const [first, last] = call.share().of(b::outer);
      kernels::copy_blocks<Call::adds_input_gradient(Index), typename Call::architecture>(
          last - first, b::length(Index), call.output_gradient() + first * b::stride + b::begin(Index), b::stride,
          call.input_gradient(Index) + first * b::length(Index), b::length(Index));
    }
  }
};

}  // namespace stagecraft
