// SPDX-License-Identifier: BSD-3-Clause
// What separable_conv1d and separable_conv2d have in common: all but the number of axes.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of SeparableConv1D (Size is int) and SeparableConv2D (Size is size_2d).
template <class Size>
struct separable_convolution_options {
  /// How far the window moves from one output to the next: one number, or {height, width} for images.
  Size strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  Size dilation_rate = 1;
  int depth_multiplier = 1;  ///< channels between the two steps, per channel of the input
  /// Whether the layer has weights `bias`, one per output channel, which are added to the result.
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
  /// What the depthwise kernel becomes after each update: non_neg, max_norm and the like.
  constraint depthwise_constraint = {};
  /// What the pointwise kernel becomes after each update: non_neg, max_norm and the like.
  constraint pointwise_constraint = {};
  /// What the bias becomes after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
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
                          tracing::parameter_layout::matrix));
      return base::with_bias_and_activation(ops, ops.matmul(each, ops.reshape(mixture, {between, filters})));
    }
    return x;
  }
  /// Floats that a batch keeps of sums + bias, if that is wanted, in whole cache lines; then comes what the first step
  /// gives.
  [[nodiscard]] constexpr long long kept_sums(shape const& in, int batch, bool sums) const {
    long long const floats = static_cast<long long>(batch) * base::output_of(in, filters).size();
    return sums ? (floats + 15) / 16 * 16 : 0;
  }

 private:
  constexpr separable_convolution(options_type const& options_, int filters_, Size const& kernel_size_,
                                  stagecraft::activation activation_)
      : base(options_, kernel_size_, activation_), filters(filters_) {}
};

}  // namespace stagecraft::layers
