// SPDX-License-Identifier: BSD-3-Clause
// What conv1d_transpose and conv3d_transpose have in common: all but the number of axes.
#pragma once

#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/volume.hpp>
#include <stagecraft/layers/window_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Conv1DTranspose (Size is int) and Conv3DTranspose (Size is size_3d).
template <class Size>
struct transposed_convolution_options {
  Size strides = 1;  ///< how far the window moves from one input to the next
  /// `valid`: windows lie inside the output; `same`: they reach beyond it, so that stride 1 keeps the size.
  stagecraft::padding padding = stagecraft::padding::valid;
  Size output_padding = -1;  ///< Keras's None unless it is given
  Size dilation_rate = 1;    ///< the distance between neighbouring elements of the window; 1: there are no gaps
  bool use_bias = true;      ///< whether the layer has weights `bias`, one per filter, which are added to the result
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  constraint kernel_constraint = {};    ///< what the kernel becomes after each update: non_neg, max_norm and the like
  constraint bias_constraint = {};      ///< what the bias becomes after each update: non_neg, max_norm and the like
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
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

}  // namespace stagecraft::layers
