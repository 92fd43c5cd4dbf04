// SPDX-License-Identifier: BSD-3-Clause
// Normalises each channel of each sample: InstanceNormalization of Graphcore's Keras layers.
#pragma once

#include <stagecraft/layers/normalization/group_normalization.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Graphcore's keyword arguments of InstanceNormalization.
struct instance_normalization_options {
  int axis = -1;          ///< the axis of the channels, Graphcore's channels_axis; negative numbers count from the end
  bool center = true;     ///< whether the layer has weights `beta`, which are added to the result
  bool scale = true;      ///< whether the layer has weights `gamma`, which the result is multiplied by
  float epsilon = 1e-3F;  ///< a small number that is added to the variance, so that nothing is divided by 0
  initializer beta_initializer = initializers::zeros{};  ///< the values that `beta` begins with
  initializer gamma_initializer = initializers::ones{};  ///< the values that `gamma` begins with
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// group_normalization with a group for each channel: mean and variance are those of a channel over all places.
///
/// Shape unchanged. Weights: gamma, beta, both (channels). Cost: about 7 FLOPs per element. Errors: E1050 for an axis
/// that the input does not have, or the batch.
/// Definition: Graphcore's IPU TensorFlow Addons, keras.layers.InstanceNormalization; Ulyanov and others, 2016.
struct instance_normalization
    : option_layer<instance_normalization, instance_normalization_options, &instance_normalization_options::axis> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "InstanceNormalization";
  static constexpr std::string_view usage =
      "instance_normalization{} or instance_normalization{{.epsilon = 1e-5F, .name = ...}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    return group_normalization({.groups = -1,
                                .axis = options.axis,
                                .epsilon = options.epsilon,
                                .center = options.center,
                                .scale = options.scale,
                                .beta_initializer = options.beta_initializer,
                                .gamma_initializer = options.gamma_initializer})
        .call(ops, x);
  }
};

}  // namespace stagecraft::layers
