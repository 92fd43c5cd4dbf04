// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of sequences, images and volumes: tf.keras.layers.Conv1D, Conv2D and Conv3D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>
#include <stagecraft/layers/volume.hpp>
#include <stagecraft/layers/window_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv1D (Size is int) and Conv2D (Size is size_2d).
template <class Size>
struct convolution_options {
  /// The distance that the window moves from one output to the next: one number, or {height, width} for images.
  Size strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  Size dilation_rate = 1;
  int groups = 1;  ///< number of convolutions side by side, each with its own channels and filters
  /// True if the layer has weights `bias`, one per output channel, which are added to the result.
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
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// The constraint on the bias after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// True if a causal layer along one axis keeps the steps before the next call's: see conv1d.
  bool stateful = false;
  /// The whole numbers of 8 bits that the layer multiplies: see bytes_from; by default, it multiplies floats.
  bytes_from input_bytes = {};
#include <stagecraft/layers/common_options.hpp>
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
    x = base::with_kept_steps(ops, x);
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
      auto const kernel = ops.weight(parameter::with("kernel", base::kernel_shape(channels / groups, filters),
                                                     given.kernel_initializer, given.kernel_regularizer,
                                                     given.kernel_constraint, base::layout_of_matrix(), groups));
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

using conv1d_options = convolution_options<int>;

/// A convolution of sequences: tf.keras.layers.Conv1D.
/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., steps, channels) to (..., new steps, filters), where the new length is
/// floor((steps - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(steps / strides)
/// with padding::same and padding::causal. Weights: kernel (steps, channels / groups, filters), bias (filters).
///
/// With `stateful` (and padding::causal), calls go on where the one before ended: the layer keeps the last
/// (kernel_size - 1) * dilation_rate steps of its input, (batch, steps, channels), which are zeros at first and after
/// `reset_states`, so that one step a call, or blocks of steps, give what the whole sequence gives. The state is like
/// that of a recurrent layer (`recurrent_layer`): no weight, and gradients stop at the begin of a call.
/// Errors: E1030 to E1035, see convolution; E1087 and E1150 to E1152 for `stateful`. Definition: Keras API,
/// layers/convolution_layers/convolution1d.
struct conv1d : convolution<conv1d, int> {
  static constexpr std::string_view class_name = "Conv1D";
  static constexpr std::string_view usage =
      "conv1d{filters, kernel_size}, conv1d{filters, kernel_size, activation} or conv1d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::convolution;

  using convolution::convolution;

  /// Any other argument: E1025.
  template <class L = conv1d>
  constexpr explicit conv1d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                            detail::wrong_options = {})
      : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

using conv2d_options = convolution_options<size_2d>;

/// A convolution of images: tf.keras.layers.Conv2D.
/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., height, width, channels) to (..., new height, new width, filters), where each of the new lengths is
/// floor((length - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(length / strides)
/// with padding::same. Weights: kernel (height, width, channels / groups, filters), bias (filters).
/// Errors: E1030 to E1035 and E1037, see convolution. Definition: Keras API, layers/convolution_layers/convolution2d.
struct conv2d : convolution<conv2d, size_2d> {
  static constexpr std::string_view class_name = "Conv2D";
  static constexpr std::string_view usage =
      "conv2d{filters, kernel_size}, conv2d{filters, kernel_size, activation} or conv2d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::convolution;

  using convolution::convolution;

  /// Any other argument: E1025.
  template <class L = conv2d>
  constexpr explicit conv2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                            detail::wrong_options = {})
      : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

using conv3d_options = convolution_options<size_3d>;

/// A convolution of volumes: tf.keras.layers.Conv3D.
/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (depth, height, width, channels) to (new depth, new height, new width, filters), with lengths as conv2d has
/// them. Weights: kernel (depth, height, width, channels / groups, filters), bias (filters). Cost: 2 FLOPs per weight
/// of the kernel and place of the output. Errors: those of window_layer; E1032 groups that do not divide channels and
/// filters; E1034 if the window does not fit. Definition: Keras API, layers/convolution_layers/convolution3d.
struct conv3d : window_layer<conv3d, size_3d, conv3d_options> {
  static constexpr std::string_view class_name = "Conv3D";
  static constexpr std::string_view usage =
      "conv3d{filters, kernel_size}, conv3d{filters, kernel_size, activation} or conv3d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}"sv;

  using window_layer::window_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (!check_options(ops, x, options.dilation_rate)) return x;
    if (options.stateful) return ops.error(1150, detail::stateful_along_many_axes), x;
    int const channels = x.length(-1), groups = options.groups;
    operations::extents out;
    auto const over = windows_of(x.shape(), options.dilation_rate);
    if (groups < 1 || channels % groups != 0 || filters % groups != 0)
      ops.error(1032, "has ", groups, " groups, which must divide the ", channels, " channels of its input and its ",
                filters, " filters");
    else if (!over.out(x.shape(), filters, out))
      ops.error(1034, "has a kernel of ", kernel_size, ", which does not fit into an input of ",
                detail::sample_shape(x));
    else {
      auto const kernel = make_kernel(ops, kernel_shape(channels / groups, filters));
      return with_bias_and_activation(ops, detail::convolve_volume(ops, x, kernel, over, groups), {filters});
    }
    return x;
  }
};

}  // namespace stagecraft::layers
