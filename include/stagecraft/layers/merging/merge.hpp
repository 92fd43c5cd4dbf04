// SPDX-License-Identifier: BSD-3-Clause
// Layers that combine tensors of one shape, element by element: tf.keras.layers.Add and its like.
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
    auto const aligned = [&](operations::tensor x) {  // the batch stays in front of the new axes
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

/// The sum of its inputs: tf.keras.layers.Add.
/// Adds two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `add{}(a, b)` or `add{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/add.
struct add : merge<add> {
  static constexpr std::string_view class_name = "Add";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a + b; }
};

/// The difference of its inputs: tf.keras.layers.Subtract.
/// Its first input minus its second; exactly two inputs, whose shapes are repeated, see merge.
/// Called as `subtract{}(a, b)` or `subtract{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/subtract.
struct subtract : merge<subtract, 2> {
  static constexpr std::string_view class_name = "Subtract";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a - b; }
};

/// The product of its inputs: tf.keras.layers.Multiply.
/// Multiplies two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `multiply{}(a, b)` or `multiply{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/multiply.
struct multiply : merge<multiply> {
  static constexpr std::string_view class_name = "Multiply";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a * b; }
};

/// The mean of its inputs: tf.keras.layers.Average.
/// The mean of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `average{}(a, b)` or `average{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/average.
struct average : merge<average> {
  static constexpr std::string_view class_name = "Average";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a + b; }
  static constexpr auto finish(operations::tensor sum, int count) { return sum * (1.0F / static_cast<float>(count)); }
};

/// The largest of its inputs: tf.keras.layers.Maximum.
/// The maximum of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `maximum{}(a, b)` or `maximum{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/maximum.
struct maximum : merge<maximum> {
  static constexpr std::string_view class_name = "Maximum";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return operations::maximum(a, b); }
};

/// The smallest of its inputs: tf.keras.layers.Minimum.
/// The minimum of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `minimum{}(a, b)` or `minimum{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/minimum.
struct minimum : merge<minimum> {
  static constexpr std::string_view class_name = "Minimum";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return operations::minimum(a, b); }
};

}  // namespace stagecraft::layers
