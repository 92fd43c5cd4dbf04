// SPDX-License-Identifier: BSD-3-Clause
// A function as a layer: tf.keras.layers.Lambda.
#pragma once

#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Lambda.
struct lambda_options {
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
};

/// output = f(input), where f is a lambda without captures, on a tensor or on `ops` and a tensor:
///
///     lambda{[](auto x) { return square(x); }}
///     lambda{[](auto& ops, auto x) { return x - ops.mean(x, -1); }}
///
/// f has the functions of a layer's `call` (operations/tracer.hpp); the batch is axis 0. No weights, as in Keras.
/// Errors: E1070 for tensors that do not fit. Definition: Keras API, layers/core_layers/lambda.
template <class F>
struct lambda : layer<lambda<F>> {
  static constexpr std::string_view class_name = "Lambda";

  constexpr explicit lambda(F, lambda_options const& options = {}) { this->layer_name = options.name; }

  constexpr auto call(auto& ops, auto x) const {
    if constexpr (requires { F{}(x); })
      return F{}(x);
    else
      return F{}(ops, x);
  }
};

}  // namespace stagecraft::layers
