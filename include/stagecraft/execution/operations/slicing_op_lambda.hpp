// SPDX-License-Identifier: BSD-3-Clause
// The steps of a slice on the host: samples are divided among threads. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/layers/slicing_op_lambda.hpp>
#include <cstdint>

namespace stagecraft {

template <>
struct operation<layers::slicing_op_lambda> {
  static constexpr bool divides = true;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using r = rows<Call>;
    auto const [first, last] = call.share().of(Call::batch);
    for (auto sample = first; sample < last; ++sample)
      for (std::int64_t row = 0; row < r::count; ++row)
        kernels::copy_blocks<false, typename Call::architecture>(
            1, r::length, call.input(0) + sample * r::in.size() + r::source(row), 0,
            call.output() + sample * Call::size + row * r::length, 0);
  }

  template <class Call>
  static void backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(0)) {
      using r = rows<Call>;
      using arch = typename Call::architecture;
      constexpr bool adds = Call::adds_input_gradient(0);
      auto const [first, last] = call.share().of(Call::batch);
      for (auto sample = first; sample < last; ++sample) {
        float* const dx = call.input_gradient(0) + sample * r::in.size();
        if constexpr (!adds) kernels::fill<arch>(dx, 0.0F, r::in.size());
        for (std::int64_t row = 0; row < r::count; ++row)
          kernels::copy_blocks<adds, arch>(1, r::length, call.output_gradient() + sample * Call::size + row * r::length,
                                           0, dx + r::source(row), 0);
      }
    }
  }

 private:
  /// A sample's elements that lie beside each other in the input and in the output.
  template <class Call>
  struct rows {
    static constexpr auto const& in = Call::input_shape(0);
    static constexpr auto part = Call::layer.part_of(Call::input_shape(0));
    /// Axes from here on are taken as a whole, or are the innermost one of which a part is taken.
    static constexpr int axis = [] {
      int result = in.rank() - 1;
      while (result > 0 && part.axis[result].count == in[result]) --result;
      return result;
    }();
    static constexpr std::int64_t inner = in.size(axis + 1, in.rank());
    static constexpr std::int64_t length = part.axis[axis].count * inner;
    static constexpr std::int64_t count = Call::size / length;

    static constexpr std::int64_t source(std::int64_t row) {
      std::int64_t result = part.axis[axis].first * inner;
      std::int64_t stride = in[axis] * inner;
      for (int i = axis; i-- > 0;) {
        result += (part.axis[i].first + row % part.axis[i].count) * stride;
        row /= part.axis[i].count;
        stride *= in[i];
      }
      return result;
    }
  };
};

}  // namespace stagecraft
