// SPDX-License-Identifier: BSD-3-Clause
// What the layers that combine tensors element by element have in common.
#pragma once

#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Base of add, subtract, multiply, average, maximum and minimum. Inputs of different shapes are repeated along axes of
/// length 1, and along axes in front that they do not have: (3, 4) with (4) or with (3, 1) is (3, 4).
/// Errors: E1001 number of inputs, E1014 shapes that do not fit.
/// Definition: Keras, layers/merging, `_compute_elemwise_op_output_shape`.
template <class Derived, int MostInputs = 16>
struct merge : layer<Derived> {
  static constexpr bool supports_masking = true;
  static constexpr int least_inputs = 2, most_inputs = MostInputs;

  static constexpr detail::rules_key rules_key() { return {}; }
  constexpr auto call(auto& ops, tensor_list in) const {
    shape result = detail::sample_shape(in[0]);
    for (std::size_t i = 1; i < in.size(); ++i) {
      shape const other = detail::sample_shape(in[i]);
      detail::broadcast_shape const merged(result, other);
      if (!merged.fits) {
        ops.error(1014, "expects inputs whose shapes fit, but input 0 has ", detail::sample_shape(in[0]), " and input ",
                  static_cast<int>(i), " has ", other,
                  "; axes are compared from the last one, and are equal or one of them is 1");
        return in[0];
      }
      result = merged.result;
    }
    auto const aligned = [&](operations::tensor x) {  // the batch stays in front of new axes
      operations::extents own = x.shape();
      while (own.rank <= result.rank()) own.insert(1, 1);
      return ops.reshape(x, own);
    };
    auto merged = aligned(in[0]);
    for (operations::tensor const x : in.subspan(1)) merged = Derived::combine(merged, aligned(x));
    if constexpr (requires { Derived::finish(merged, 1); })
      merged = Derived::finish(merged, static_cast<int>(in.size()));
    return merged;
  }
};

}  // namespace stagecraft::layers
