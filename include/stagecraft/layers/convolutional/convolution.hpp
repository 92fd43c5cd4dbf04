// SPDX-License-Identifier: BSD-3-Clause
// What conv1d and conv2d have in common: all but the number of axes.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv1D (Size is int) and Conv2D (Size is size_2d).
template <class Size>
struct convolution_options {
  /// How far the window moves from one output to the next: one number, or {height, width} for images.
  Size strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  Size dilation_rate = 1;
  int groups = 1;  ///< so many convolutions side by side, each of its own channels and filters
  /// Whether the layer has weights `bias`, one per output channel, which are added to the result.
  bool use_bias = true;
  /// The values that the kernel begins with.
  initializer kernel_initializer = initializers::glorot_uniform{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
  /// A penalty on the kernel that is added to the loss: l1, l2 or both.
  regularizer kernel_regularizer = {};
  /// A penalty on the bias that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// What the kernel becomes after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// What the bias becomes after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// Base of conv1d and conv2d.
///
/// Weights: kernel (kernel_size..., channels / groups, filters), bias (filters). Cost: 2 FLOPs per weight of the kernel
/// and place of the output. Errors: those of convolution_layer; E1030 if filters is below 1; E1032 if groups does not
/// divide channels and filters; E1034 if the window does not fit into the input.
template <class Derived, class Size>
struct convolution : convolution_layer<Derived, Size, convolution_options<Size>> {
  using options_type = convolution_options<Size>;
  using base = convolution_layer<Derived, Size, options_type>;
  using base::base;

  int filters = 1;
  using arguments = argument_list<&convolution::filters, &base::kernel_size, &base::activation>;

  constexpr convolution(detail::whole_number filters_, Size const& kernel_size_)
      : convolution(options_type{}, filters_, kernel_size_, linear) {}
  constexpr convolution(detail::whole_number filters_, Size const& kernel_size_, options_type const& options_)
      : convolution(options_, filters_, kernel_size_, linear) {}
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr convolution(detail::whole_number filters_, Size const& kernel_size_, Activation activation_,
                        options_type const& options_ = {})
      : convolution(options_, filters_, kernel_size_, activation_) {}

  constexpr auto call(auto& ops, auto x) const {
    if (!base::check_options(ops, x, true)) return x;
    shape const in = detail::sample_shape(x);
    auto const& given = this->options;
    int const channels = x.length(-1), groups = given.groups;
    if (!detail::are_counts(filters))
      ops.error(1030, "has ", filters, " filters; it needs ", detail::count_limit(filters));
    else if (groups < 1 || channels % groups != 0 || filters % groups != 0)
      ops.error(1032, "has ", groups, " groups, which must divide the ", channels, " channels of its input and its ",
                filters, " filters");
    else if (base::check_window(ops, in)) {
      bool const has_more_axes = x.rank() > base::axes + 1;
      auto const images = has_more_axes ? ops.reshape(x, detail::last_axes_of(x.shape(), base::axes)) : x;
      auto const kernel = ops.weight(parameter::with(
          "kernel", base::kernel_shape(channels / groups, filters), given.kernel_initializer, given.kernel_regularizer,
          given.kernel_constraint, tracing::parameter_layout::matrix, groups));
      auto sums = ops.conv(images, kernel, base::windows_of(in), groups);
      if (has_more_axes)
        sums = ops.reshape(sums, operations::extents::of_batch(x.length(0), base::output_of(in, filters)));
      return base::with_bias_and_activation(ops, sums);
    }
    return x;
  }

 private:
  constexpr convolution(options_type const& options_, int filters_, Size const& kernel_size_,
                        stagecraft::activation activation_)
      : base(options_, kernel_size_, activation_), filters(filters_) {}
};

}  // namespace stagecraft::layers
