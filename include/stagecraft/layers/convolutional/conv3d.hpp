// SPDX-License-Identifier: BSD-3-Clause
// A convolution of volumes: tf.keras.layers.Conv3D.
#pragma once

#include <stagecraft/layers/convolutional/convolution.hpp>
#include <stagecraft/layers/volume.hpp>
#include <stagecraft/layers/window_layer.hpp>

namespace stagecraft::layers {

using conv3d_options = convolution_options<size_3d>;

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
