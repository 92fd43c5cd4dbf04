// SPDX-License-Identifier: BSD-3-Clause
// Penalties on the activities of layers: the layer that stands after others, and the one that users write.
// Keras counterpart: activity_regularizer, add_loss of a model, tf.keras.layers.ActivityRegularization.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <string_view>

namespace stagecraft::layers {

/// The penalty on an output, for each sample: l1 * sum|x| + l2 * sum x^2, or the mean of x. Users do not write it: it
/// stands after the call of a layer with `activity_regularizer`, has that layer's name, and neither a stage nor a line
/// in summaries.
///
/// Shape: any to (1). Its mean over the batch is added to the loss.
struct activity_penalty : layer<activity_penalty> {
  static constexpr std::string_view class_name = "ActivityPenalty";
  static constexpr bool is_penalty = true;
  static constexpr int index = 0;

  float l1 = 0;         ///< the factor of the sum of absolute values
  float l2 = 0;         ///< the factor of the sum of squares
  bool is_mean = true;  ///< true if it is the mean of x, in place of the sums

  constexpr activity_penalty() = default;
  constexpr activity_penalty(float l1_, float l2_) : l1(l1_), l2(l2_), is_mean(false) {}

  constexpr auto call(auto& ops, auto x) const {
    auto const of_sample = ops.reshape(x, {x.length(0), detail::sample_shape(x).size()});
    if (is_mean) return ops.mean(of_sample, -1);
    auto const each = l2 == 0   ? abs(of_sample) * l1
                      : l1 == 0 ? square(of_sample) * l2
                                : abs(of_sample) * l1 + square(of_sample) * l2;
    return ops.sum(each, -1);
  }
};

/// Keras's keyword arguments of ActivityRegularization.
struct activity_regularization_options {
  float l1 = 0;  ///< the factor of the sum of absolute values
  float l2 = 0;  ///< the factor of the sum of squares
#include <stagecraft/layers/common_options.hpp>
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
  [[nodiscard]] constexpr regularizer activity_regularizer() const {
    return regularizers::l1_l2{options.l1, options.l2};
  }

  constexpr auto call(auto&, auto x) const { return x; }
};

}  // namespace stagecraft::layers
