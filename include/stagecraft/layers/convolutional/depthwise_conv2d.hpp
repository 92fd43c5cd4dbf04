// SPDX-License-Identifier: BSD-3-Clause
// A convolution of each channel by itself: tf.keras.layers.DepthwiseConv2D.
#pragma once

#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of DepthwiseConv2D.
struct depthwise_conv2d_options {
  /// How far the window moves from one output to the next: one number, or {height, width} for images.
  size_2d strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  int depth_multiplier = 1;  ///< outputs per channel
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  size_2d dilation_rate = 1;
  /// Whether the layer has weights `bias`, one per output channel, which are added to the result.
  bool use_bias = true;
  /// The values that the depthwise kernel begins with.
  initializer depthwise_initializer = initializers::glorot_uniform{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
  /// A penalty on the depthwise kernel that is added to the loss: l1, l2 or both.
  regularizer depthwise_regularizer = {};
  /// A penalty on the bias that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// What the depthwise kernel becomes after each update: non_neg, max_norm and the like.
  constraint depthwise_constraint = {};
  /// What the bias becomes after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// Channel c of the input gives the channels c * depth_multiplier, ... of the output, by a kernel of one channel each.
///
/// Shape: (height, width, channels) to (new height, new width, channels * depth_multiplier), the new lengths as in
/// conv2d. Weights: depthwise_kernel (height, width, channels, depth_multiplier), bias (channels * depth_multiplier).
/// Cost: 2 * height * width FLOPs per output, and 1 for the bias. Strides may differ, which TensorFlow refuses.
/// Errors: E1031, E1033 to E1037, see convolution_layer; E1036 if depth_multiplier is below 1.
/// Definition: Keras API, layers/convolution_layers/depthwise_convolution2d.
struct depthwise_conv2d : convolution_layer<depthwise_conv2d, size_2d, depthwise_conv2d_options> {
  static constexpr std::string_view class_name = "DepthwiseConv2D";
  static constexpr std::string_view usage =
      "depthwise_conv2d{kernel_size}, depthwise_conv2d{kernel_size, activation} or depthwise_conv2d{kernel_size, "
      "activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::depthwise_convolution;

  using arguments = argument_list<&depthwise_conv2d::kernel_size, &depthwise_conv2d::activation>;

  // GCC 12 does not choose between this constructor and the copy's for a lone number, so numbers have their own.
  constexpr explicit(false) depthwise_conv2d(size_2d const& kernel_size_)
      : depthwise_conv2d(depthwise_conv2d_options{}, kernel_size_, linear) {}
  constexpr explicit(false) depthwise_conv2d(int kernel_size_) : depthwise_conv2d(size_2d(kernel_size_)) {}
  constexpr depthwise_conv2d(size_2d const& kernel_size_, depthwise_conv2d_options const& options_)
      : depthwise_conv2d(options_, kernel_size_, linear) {}
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr depthwise_conv2d(size_2d const& kernel_size_, Activation activation_,
                             depthwise_conv2d_options const& options_ = {})
      : depthwise_conv2d(options_, kernel_size_, activation_) {}

  /// Nothing, or anything else: E1025.
  template <class L = depthwise_conv2d>
  constexpr depthwise_conv2d() : depthwise_conv2d(size_2d(1)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using convolution_layer::convolution_layer;
  template <class L = depthwise_conv2d>
  constexpr explicit depthwise_conv2d(detail::wrong_options, ...) : depthwise_conv2d(size_2d(1)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!check_options(ops, x)) return x;
    int const channels = x.length(-1), depth_multiplier = options.depth_multiplier;
    if (!check_multiplier(ops, x, depth_multiplier)) return x;
    if (!check_window(ops, detail::sample_shape(x))) return x;
    return with_bias_and_activation(
        ops, convolve_channels(ops, x,
                               parameter::with("depthwise_kernel", kernel_shape(channels, depth_multiplier),
                                               options.depthwise_initializer, options.depthwise_regularizer,
                                               options.depthwise_constraint)));
  }

 private:
  constexpr depthwise_conv2d(depthwise_conv2d_options const& options_, size_2d const& kernel_size_,
                             stagecraft::activation activation_)
      : convolution_layer(options_, kernel_size_, activation_) {}
};

}  // namespace stagecraft::layers
