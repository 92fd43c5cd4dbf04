// SPDX-License-Identifier: BSD-3-Clause
// A convolution layer's options and input, as the kernels want to know them.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>

namespace stagecraft::cpu {

/// The convolution that the windows of a layer make of an image, or of a sequence, of a given size.
template <class Derived, class Size, class Options>
constexpr kernels::convolution_shape convolution_of(layers::convolution_layer<Derived, Size, Options> const& layer,
                                                    int height, int width, int channels, int filters, int groups = 1) {
  auto const rows = layer.rows(height), columns = layer.columns(width);
  return {.height = height,
          .width = width,
          .channels = channels,
          .filters = filters,
          .kernel_height = rows.window,
          .kernel_width = columns.window,
          .stride_height = rows.stride,
          .stride_width = columns.stride,
          .dilation_height = rows.dilation,
          .dilation_width = columns.dilation,
          .groups = groups,
          .top = rows.before(),
          .left = columns.before(),
          .bottom = rows.after(),
          .right = columns.after()};
}

/// Where a layer with an activation keeps sums + bias in its memory from forward to backward, if it does.
template <class Call>
constexpr bool keeps_sums = Call::plan::trains && Call::layer.activation.gradient_needs_input();

}  // namespace stagecraft::cpu
