// SPDX-License-Identifier: BSD-3-Clause
// Normalizations over groups of channels, and over each channel by itself.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of GroupNormalization.
struct group_normalization_options {
  /// Number of groups into which the channels are divided, in their order; -1: each channel is one.
  int groups = 32;
  /// The axis of the channels, Graphcore's channels_axis; negative numbers count from the end.
  int axis = -1;
#include <stagecraft/layers/normalization/scale_options.hpp>
  /// Graphcore's option: whether a group has each groups-th channel, in place of neighbours.
  bool strided_channel_grouping = false;
#include <stagecraft/layers/common_options.hpp>
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each sample and group
/// of channels, over all places. Training and prediction compute the same.
///
/// Shape unchanged. Weights: gamma, beta, both (channels). Cost: about 7 FLOPs per element. Errors: E1050 for an axis
/// that the input does not have, or the batch; E1071 if the groups do not divide the channels. Definition: Keras API,
/// layers/normalization_layers; Wu and He, 2018.
struct group_normalization : layer<group_normalization> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "GroupNormalization";
  static constexpr std::string_view usage =
      "group_normalization{}, group_normalization{groups} or group_normalization{{.groups = 8, .name = ...}}"sv;

  group_normalization_options options;

  constexpr group_normalization() : group_normalization(group_normalization_options{}) {}
  constexpr explicit group_normalization(int groups)
      : group_normalization(group_normalization_options{.groups = groups}) {}
  constexpr explicit(false) group_normalization(group_normalization_options const& options_) : options(options_) {
    take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = group_normalization>
  constexpr explicit group_normalization(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                         detail::wrong_options = {})
      : group_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!x.shape().has(options.axis) || x.shape().from_front(options.axis) == 0) {
      ops.error(1050, "normalizes along axis ", options.axis, ", which is no axis of a sample of shape ",
                detail::sample_shape(x));
      return x;
    }
    int const along = x.shape().from_front(options.axis), channels = x.length(along);
    int const groups = options.groups == -1 ? channels : options.groups;
    if (groups < 1 || channels % groups != 0) {
      ops.error(1071, "has ", groups, " groups, which do not divide the ", channels, " channels of its input");
      return x;
    }
    // (batch, places, groups, channels of a group); strided: (batch, places, channels of a group, groups). The places
    // of axes after the channels follow.
    bool const is_strided = options.strided_channel_grouping, is_last = along == x.rank() - 1;
    int const inner = is_strided ? groups : channels / groups;
    int before = 1, after = 1;
    operations::extents beside(1);  // extents of the channels' numbers, aligned with x
    for (int axis = 1; axis < x.rank(); ++axis) {
      beside.push_back(axis == along ? channels : 1);
      if (axis != along) (axis < along ? before : after) *= x.length(axis);
    }
    operations::extents parts{x.length(0), before, channels / inner, inner};
    axis_list reduced{1, is_strided ? 2 : 3};
    if (!is_last) {
      parts.push_back(after);
      reduced.axes[reduced.count++] = 4;
    }
    auto const grouped = ops.reshape(x, parts);
    auto const centred = grouped - ops.mean(grouped, reduced);
    auto const normal = centred * rsqrt(ops.mean(square(centred), reduced) + options.epsilon);
    auto y = ops.reshape(normal, x.shape());
    auto const weight = [&](parameter const& each) {
      auto const of_channels = ops.weight(each);
      return is_last ? of_channels : ops.reshape(of_channels, beside);
    };
    if (options.scale)
      y *= weight(parameter::with("gamma", {channels}, options.gamma_initializer, options.gamma_regularizer,
                                  options.gamma_constraint));
    if (options.center)
      y += weight(parameter::with("beta", {channels}, options.beta_initializer, options.beta_regularizer,
                                  options.beta_constraint));
    return y;
  }
};

/// Graphcore's keyword arguments of InstanceNormalization.
struct instance_normalization_options {
  int axis = -1;          ///< the axis of the channels, Graphcore's channels_axis; negative numbers count from the end
  bool center = true;     ///< true if the layer has weights `beta`, which are added to the result
  bool scale = true;      ///< true if the layer has weights `gamma`, which the result is multiplied by
  float epsilon = 1e-3F;  ///< a small number that is added to the variance, so that nothing is divided by 0
  initializer beta_initializer = initializers::zeros{};  ///< the values that `beta` begins with
  initializer gamma_initializer = initializers::ones{};  ///< the values that `gamma` begins with
#include <stagecraft/layers/common_options.hpp>
};

/// Normalises each channel of each sample: InstanceNormalization of Graphcore's Keras layers.
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
