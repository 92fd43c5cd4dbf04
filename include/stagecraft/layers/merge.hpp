// SPDX-License-Identifier: BSD-3-Clause
// What the layers that combine tensors element by element have in common. Level 2.
#pragma once

#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Base of add, subtract, multiply, average and maximum. Inputs of different shapes are repeated along axes of length
/// 1, and along axes in front that they do not have: (3, 4) with (4) or with (3, 1) is (3, 4).
/// Errors: E1001 number of inputs, E1014 shapes that do not fit.
/// Definition: Keras, layers/merging, `_compute_elemwise_op_output_shape`.
template <class Derived, int MostInputs = 16>
struct merge : layer<Derived> {
  static constexpr bool supports_masking = true;
  static constexpr int most_inputs = MostInputs;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(2, MostInputs)) return in[0];
    shape result = in[0];
    for (int i = 1; i < in.size(); ++i) {
      detail::broadcast_shape const merged(result, in[i]);
      if (!merged.fits)
        return in.error(1014, "expects inputs whose shapes fit, but input 0 has ", in[0], " and input ", i, " has ",
                        in[i], "; axes are compared from the last one, and are equal or one of them is 1");
      result = merged.result;
    }
    return result;
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    shape result = in[0];
    for (int i = 1; i < in.size(); ++i) result = detail::broadcast_shape(result, in[i]).result;
    return static_cast<long long>(in.size() - 1) * result.size();
  }
};

}  // namespace stagecraft::layers
