// SPDX-License-Identifier: BSD-3-Clause
// The convolutions that lead back, from small to large: tf.keras.layers.Conv1DTranspose, Conv2DTranspose,
// Conv3DTranspose.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>
#include <stagecraft/layers/volume.hpp>
#include <stagecraft/layers/window_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv1DTranspose (Size is int) and Conv3DTranspose (Size is size_3d).
template <class Size>
struct transposed_convolution_options {
  Size strides = 1;  ///< the distance that the window moves from one input to the next
  /// `valid`: windows lie inside the output; `same`: they reach beyond it, so that stride 1 keeps the size.
  stagecraft::padding padding = stagecraft::padding::valid;
  Size output_padding = -1;  ///< Keras's None by default
  Size dilation_rate = 1;    ///< the distance between neighbouring elements of the window; 1: there are no gaps
  bool use_bias = true;      ///< true if the layer has weights `bias`, one per filter, which are added to the result
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// The constraint on the bias after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
#include <stagecraft/layers/common_options.hpp>
};

/// output = activation(transposed convolution of the input with the kernel + bias), channels last; lengths are those of
/// conv2d_transpose.
///
/// Weights: kernel (kernel_size..., filters, channels), bias (filters). Cost: 2 FLOPs per weight of the kernel and
/// place of the input. Errors: those of window_layer; E1038 if output_padding is not less than the strides, or the new
/// length is none from which a convolution leads back. Definition: keras/utils/conv_utils.py (deconv_output_length).
template <class Derived, class Size>
struct transposed_convolution : window_layer<Derived, Size, transposed_convolution_options<Size>> {
  using base = window_layer<Derived, Size, transposed_convolution_options<Size>>;
  using base::base;

  constexpr auto call(auto& ops, auto x) const {
    auto const& given = this->options;
    if (!base::check_options(ops, x, given.dilation_rate)) return x;
    operations::extents out(x.length(0)), back;
    bool fits = true;
    for (int axis = 0; axis < base::places; ++axis) {
      auto const way = base::way(axis, x.length(axis + 1), given.dilation_rate);
      int const extra = base::along(given.output_padding, axis);
      fits = fits && extra >= -1 && extra < way.stride;
      out.push_back(way.transposed_output(extra));
    }
    out.push_back(this->filters);
    auto const over = base::windows_of(out, given.dilation_rate);
    if (!fits || !over.out(out, x.length(-1), back) || back != x.shape()) {
      ops.error(1038, "has an output padding of ", given.output_padding, " and strides of ", given.strides,
                "; no convolution leads from its output back to ", detail::sample_shape(x));
      return x;
    }
    auto const kernel = base::make_kernel(ops, base::kernel_shape(this->filters, x.length(-1)));
    if constexpr (base::places == 3)
      return base::with_bias_and_activation(ops, detail::convolve_volume_back(ops, x, kernel, over, out),
                                            {this->filters});
    else
      return base::with_bias_and_activation(ops, ops.conv_transpose(x, kernel, over, out), {this->filters});
  }
};

using conv1d_transpose_options = transposed_convolution_options<int>;

/// The convolution that leads back, from a short sequence to a long one: tf.keras.layers.Conv1DTranspose.
/// See transposed_convolution. Shape: (steps, channels) to (new steps, filters).
/// Definition: Keras API, layers/convolution_layers/convolution1d_transpose.
struct conv1d_transpose : transposed_convolution<conv1d_transpose, int> {
  static constexpr std::string_view class_name = "Conv1DTranspose";
  static constexpr std::string_view usage =
      "conv1d_transpose{filters, kernel_size}, conv1d_transpose{filters, kernel_size, activation} or "
      "conv1d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using transposed_convolution::transposed_convolution;
};

/// Keras's keyword arguments of Conv2DTranspose.
struct conv2d_transpose_options {
  /// The distance that the window moves from one output to the next: one number, or {height, width} for images.
  size_2d strides = 1;
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = stagecraft::padding::valid;
  size_2d output_padding = no_output_padding;  ///< Keras's None by default
  /// The distance between neighbouring elements of the window; 1: there are no gaps.
  size_2d dilation_rate = 1;
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
#include <stagecraft/layers/common_options.hpp>

  static constexpr size_2d no_output_padding{-1};
};

/// The convolution that leads back, from a small image to a large one: tf.keras.layers.Conv2DTranspose.
/// output = activation(transposed convolution of the input with the kernel + bias), channels last: the gradient of a
/// convolution with the same kernel, strides and padding, whose input has the shape of this layer's output.
///
/// Shape: (height, width, channels) to (new height, new width, filters). With k = dilation_rate * (kernel_size - 1) +
/// 1, each of the new lengths is
/// - without output_padding, length * strides with padding::same, length * strides + max(k - strides, 0) with
///   padding::valid;
/// - with it, (length - 1) * strides + k - 2 * p + output_padding, where p is k / 2 rounded down with padding::same and
///   0 with padding::valid.
/// Weights: kernel (height, width, filters, channels), bias (filters). Cost: 2 FLOPs per weight of the kernel and place
/// of the input, 1 per output for the bias.
/// Errors: E1031, E1033, E1035, E1037, see convolution_layer; E1030 if filters is below 1; E1038 if output_padding is
/// not less than the strides, or the new length is none from which a convolution leads back to the input's.
/// Definition: Keras API, layers/convolution_layers/convolution2d_transpose; keras/utils/conv_utils.py
/// (deconv_output_length).
struct conv2d_transpose : convolution_layer<conv2d_transpose, size_2d, conv2d_transpose_options> {
  static constexpr std::string_view class_name = "Conv2DTranspose";
  static constexpr std::string_view usage =
      "conv2d_transpose{filters, kernel_size}, conv2d_transpose{filters, kernel_size, activation} or "
      "conv2d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::transposed_convolution;

  int filters = 1;
  using arguments =
      argument_list<&conv2d_transpose::filters, &conv2d_transpose::kernel_size, &conv2d_transpose::activation>;

  constexpr conv2d_transpose(detail::whole_number filters_, size_2d const& kernel_size_)
      : conv2d_transpose(conv2d_transpose_options{}, filters_, kernel_size_, linear) {}
  constexpr conv2d_transpose(detail::whole_number filters_, size_2d const& kernel_size_,
                             conv2d_transpose_options const& options_)
      : conv2d_transpose(options_, filters_, kernel_size_, linear) {}
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr conv2d_transpose(detail::whole_number filters_, size_2d const& kernel_size_, Activation activation_,
                             conv2d_transpose_options const& options_ = {})
      : conv2d_transpose(options_, filters_, kernel_size_, activation_) {}

  using convolution_layer::convolution_layer;
  /// Any other argument: E1025.
  template <class L = conv2d_transpose>
  constexpr explicit conv2d_transpose(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                      detail::wrong_options = {})
      : conv2d_transpose(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!check_options(ops, x)) return x;
    size_2d const output_padding = options.output_padding, strides = options.strides;
    bool const given = output_padding != conv2d_transpose_options::no_output_padding;
    shape const in = detail::sample_shape(x);
    int const height = rows(height_of(in)).transposed_output(given ? output_padding.height : -1);
    int const width = columns(width_of(in)).transposed_output(given ? output_padding.width : -1);
    if (!detail::are_counts(filters))
      ops.error(1030, "has ", filters, " filters; it needs ", detail::count_limit(filters));
    else if (given && (output_padding.height < 0 || output_padding.height >= strides.height ||
                       output_padding.width < 0 || output_padding.width >= strides.width))
      ops.error(1038, "has an output padding of ", output_padding,
                ", which must be at least 0 and less than its strides of ", strides);
    else if (height < 1 || width < 1 || rows(height).output() != height_of(in) ||
             columns(width).output() != width_of(in))
      ops.error(1038, "has an output padding of ", output_padding, ", which makes an output of ",
                size_2d(height, width), "; a convolution leads from there to another shape than ", in);
    else {
      shape const out(height, width, filters);
      auto const kernel = ops.weight(parameter::with("kernel", kernel_shape(filters, in.back()),
                                                     options.kernel_initializer, options.kernel_regularizer,
                                                     options.kernel_constraint, tracing::parameter_layout::matrix));
      return with_bias_and_activation(
          ops, ops.conv_transpose(x, kernel, windows_of(out), operations::extents::of_batch(x.length(0), out)));
    }
    return x;
  }

 private:
  constexpr conv2d_transpose(conv2d_transpose_options const& options_, int filters_, size_2d const& kernel_size_,
                             stagecraft::activation activation_)
      : convolution_layer(options_, kernel_size_, activation_), filters(filters_) {}
};

using conv3d_transpose_options = transposed_convolution_options<size_3d>;

/// The convolution that leads back, from a small volume to a large one: tf.keras.layers.Conv3DTranspose.
/// See transposed_convolution. Shape: (depth, height, width, channels) to (new depth, new height, new width, filters).
/// Definition: Keras API, layers/convolution_layers/convolution3d_transpose.
struct conv3d_transpose : transposed_convolution<conv3d_transpose, size_3d> {
  static constexpr std::string_view class_name = "Conv3DTranspose";
  static constexpr std::string_view usage =
      "conv3d_transpose{filters, kernel_size}, conv3d_transpose{filters, kernel_size, activation} or "
      "conv3d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using transposed_convolution::transposed_convolution;
};

}  // namespace stagecraft::layers
