// SPDX-License-Identifier: BSD-3-Clause
// What the layers that combine tensors of one shape element by element have in common. Level 2.
#pragma once

#include <stagecraft/graph/layer.hpp>

namespace stagecraft::layers {

/// Base of add, subtract, multiply, average and maximum: all inputs have one shape, which is the output's.
/// Errors: E1001 number of inputs, E1014 different shapes.
template <class Derived, int MostInputs = 16>
struct merge : layer<Derived> {
  static constexpr int most_inputs = MostInputs;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(2, MostInputs)) return in[0];
    for (int i = 1; i < in.size(); ++i)
      if (!(in[i] == in[0]))
        return in.error(1014, "expects inputs of one shape, but input 0 has ", in[0], " and input ", i, " has ", in[i]);
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return static_cast<long long>(in.size() - 1) * in[0].size();
  }
};

}  // namespace stagecraft::layers
