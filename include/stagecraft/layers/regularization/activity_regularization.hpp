// SPDX-License-Identifier: BSD-3-Clause
// A penalty on activities as a layer of its own: tf.keras.layers.ActivityRegularization.
#pragma once

#include <stagecraft/layers/activity_penalty.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of ActivityRegularization.
struct activity_regularization_options {
  float l1 = 0;  ///< the factor of the sum of absolute values
  float l2 = 0;  ///< the factor of the sum of squares
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = input; l1 * sum|x| + l2 * sum x^2, divided by the batch size, is added to the loss.
///
/// Shape unchanged, no weights; the output is the input's memory. Errors: E1001.
/// Definition: Keras API, layers/regularization_layers/activity_regularization.
struct activity_regularization
    : option_layer<activity_regularization, activity_regularization_options, &activity_regularization_options::l1> {
  static constexpr bool supports_masking = true;
  static constexpr bool is_view = true;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone
  static constexpr std::string_view class_name = "ActivityRegularization";
  static constexpr std::string_view usage = "activity_regularization{{.l1 = 0.01, .l2 = 0.01, .name = ...}}"sv;

  using option_layer::option_layer;

  /// The penalty on its output.
  [[nodiscard]] constexpr regularizer activity_regularizer() const { return {.l1 = options.l1, .l2 = options.l2}; }

  constexpr auto call(auto&, auto x) const { return x; }
};

}  // namespace stagecraft::layers
