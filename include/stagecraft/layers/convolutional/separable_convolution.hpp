// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of each channel by itself, and those that mix the channels afterwards.
// Keras counterpart: tf.keras.layers.DepthwiseConv2D, SeparableConv1D and SeparableConv2D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of DepthwiseConv2D.
struct depthwise_conv2d_options {
  /// The distance that the window moves from one output to the next: one number, or {height, width} for images.
  size_2d strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  int depth_multiplier = 1;  ///< outputs per channel
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  size_2d dilation_rate = 1;
  /// True if the layer has weights `bias`, one per output channel, which are added to the result.
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
  /// The constraint on the depthwise kernel after each update: non_neg, max_norm and the like.
  constraint depthwise_constraint = {};
  /// The constraint on the bias after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
#include <stagecraft/layers/common_options.hpp>
};

/// A convolution of each channel by itself: tf.keras.layers.DepthwiseConv2D.
/// Channel c of the input becomes the channels c * depth_multiplier, ... of the output, by a kernel of one channel
/// each.
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

  using convolution_layer::convolution_layer;
  /// Any other argument: E1025.
  template <class L = depthwise_conv2d>
  constexpr explicit depthwise_conv2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                      detail::wrong_options = {})
      : depthwise_conv2d(size_2d(1)) {
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

/// Keras's keyword arguments of SeparableConv1D (Size is int) and SeparableConv2D (Size is size_2d).
template <class Size>
struct separable_convolution_options {
  /// The distance that the window moves from one output to the next: one number, or {height, width} for images.
  Size strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  Size dilation_rate = 1;
  int depth_multiplier = 1;  ///< channels between the two steps, per channel of the input
  /// True if the layer has weights `bias`, one per output channel, which are added to the result.
  bool use_bias = true;
  /// The values that the depthwise kernel begins with.
  initializer depthwise_initializer = initializers::glorot_uniform{};
  /// The values that the pointwise kernel begins with.
  initializer pointwise_initializer = initializers::glorot_uniform{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
  /// A penalty on the depthwise kernel that is added to the loss: l1, l2 or both.
  regularizer depthwise_regularizer = {};
  /// A penalty on the pointwise kernel that is added to the loss: l1, l2 or both.
  regularizer pointwise_regularizer = {};
  /// A penalty on the bias that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the depthwise kernel after each update: non_neg, max_norm and the like.
  constraint depthwise_constraint = {};
  /// The constraint on the pointwise kernel after each update: non_neg, max_norm and the like.
  constraint pointwise_constraint = {};
  /// The constraint on the bias after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// True if a causal layer along one axis keeps the steps before the next call's: see conv1d.
  bool stateful = false;
#include <stagecraft/layers/common_options.hpp>
};

/// Base of separable_conv1d and separable_conv2d: each channel is convolved by itself, and the results are mixed.
///
/// Weights: depthwise_kernel (kernel_size..., channels, depth_multiplier), pointwise_kernel
/// (1..., channels * depth_multiplier, filters), bias (filters). Cost: 2 FLOPs per weight of both kernels and place of
/// the output. Errors: those of convolution_layer; E1030 if filters is below 1; E1034 if the window does not fit into
/// the input; E1036 if depth_multiplier is below 1.
template <class Derived, class Size>
struct separable_convolution : convolution_layer<Derived, Size, separable_convolution_options<Size>> {
  using options_type = separable_convolution_options<Size>;
  using base = convolution_layer<Derived, Size, options_type>;
  using base::base;

  int filters = 1;
  using arguments = argument_list<&separable_convolution::filters, &base::kernel_size, &base::activation>;

  constexpr separable_convolution(detail::whole_number filters_, Size const& kernel_size_)
      : separable_convolution(options_type{}, filters_, kernel_size_, linear) {}
  constexpr separable_convolution(detail::whole_number filters_, Size const& kernel_size_, options_type const& options_)
      : separable_convolution(options_, filters_, kernel_size_, linear) {}
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr separable_convolution(detail::whole_number filters_, Size const& kernel_size_, Activation activation_,
                                  options_type const& options_ = {})
      : separable_convolution(options_, filters_, kernel_size_, activation_) {}

  constexpr auto call(auto& ops, auto x) const {
    if (!base::check_options(ops, x)) return x;
    x = base::with_kept_steps(ops, x);
    auto const& given = this->options;
    if (!detail::are_counts(filters))
      ops.error(1030, "has ", filters, " filters; it needs ", detail::count_limit(filters));
    else if (base::check_multiplier(ops, x, given.depth_multiplier) &&
             base::check_window(ops, detail::sample_shape(x))) {
      int const between = x.length(-1) * given.depth_multiplier;
      auto const each = base::convolve_channels(
          ops, x,
          parameter::with("depthwise_kernel", base::kernel_shape(x.length(-1), given.depth_multiplier),
                          given.depthwise_initializer, given.depthwise_regularizer, given.depthwise_constraint));
      auto const mixture = ops.weight(
          parameter::with("pointwise_kernel", base::is_2d ? shape(1, 1, between, filters) : shape(1, between, filters),
                          given.pointwise_initializer, given.pointwise_regularizer, given.pointwise_constraint,
                          base::layout_of_matrix()));
      return base::with_bias_and_activation(ops, ops.matmul(each, ops.reshape(mixture, {between, filters})));
    }
    return x;
  }
  /// Floats that a batch keeps for sums + bias, if they are wanted, in whole cache lines; the result of the first step
  /// follows.
  [[nodiscard]] constexpr long long kept_sums(shape const& in, int batch, bool sums) const {
    long long const floats = static_cast<long long>(batch) * base::output_of(in, filters).size();
    return sums ? (floats + 15) / 16 * 16 : 0;
  }

 private:
  constexpr separable_convolution(options_type const& options_, int filters_, Size const& kernel_size_,
                                  stagecraft::activation activation_)
      : base(options_, kernel_size_, activation_), filters(filters_) {}
};

using separable_conv1d_options = separable_convolution_options<int>;

/// A convolution of sequences in two steps: tf.keras.layers.SeparableConv1D.
/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (steps, channels) to (new steps, filters), the new length as in conv1d, whose `stateful` it has, too.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution1d.
struct separable_conv1d : separable_convolution<separable_conv1d, int> {
  static constexpr std::string_view class_name = "SeparableConv1D";
  static constexpr std::string_view usage =
      "separable_conv1d{filters, kernel_size}, separable_conv1d{filters, kernel_size, activation} or "
      "separable_conv1d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::separable_convolution;

  using separable_convolution::separable_convolution;

  /// Any other argument: E1025.
  template <class L = separable_conv1d>
  constexpr explicit separable_conv1d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                      detail::wrong_options = {})
      : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

using separable_conv2d_options = separable_convolution_options<size_2d>;

/// A convolution of images in two steps: tf.keras.layers.SeparableConv2D.
/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (height, width, channels) to (new height, new width, filters), the new lengths as in conv2d.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution2d.
struct separable_conv2d : separable_convolution<separable_conv2d, size_2d> {
  static constexpr std::string_view class_name = "SeparableConv2D";
  static constexpr std::string_view usage =
      "separable_conv2d{filters, kernel_size}, separable_conv2d{filters, kernel_size, activation} or "
      "separable_conv2d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::separable_convolution;

  using separable_convolution::separable_convolution;

  /// Any other argument: E1025.
  template <class L = separable_conv2d>
  constexpr explicit separable_conv2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                      detail::wrong_options = {})
      : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
