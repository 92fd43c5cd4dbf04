// SPDX-License-Identifier: BSD-3-Clause
// A convolution layer's options and input, as the planner of convolutions wants to know them. Level 4.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/convolution_shape.hpp>
#include <stagecraft/layers/convolution_layer.hpp>
#include <cstdint>

namespace stagecraft::detail {

/// The convolution that the windows of a layer make of a batch of images, or of sequences, of a given size. Dilation of
/// a single element does not matter, and is left out.
template <class Derived, class Size, class Options>
constexpr convolution_shape layer_convolution(layers::convolution_layer<Derived, Size, Options> const& layer,
                                              dtype type, std::int64_t batch, int height, int width, int channels,
                                              int filters, int groups = 1) {
  auto const rows = layer.rows(height), columns = layer.columns(width);
  convolution_shape result;
  result.input = result.output = type;
  result.batch_size = batch;
  result.num_conv_groups = groups;
  result.input_channels_per_conv_group = channels / groups;
  result.output_channels_per_conv_group = filters / groups;
  result.input_field = {.height = height, .width = width};
  result.kernel = {.height = rows.window, .width = columns.window};
  result.output_field = {.height = rows.output(), .width = columns.output()};
  result.stride = {.height = rows.stride, .width = columns.stride};
  result.kernel_dilation = {.height = rows.window > 1 ? rows.dilation : 1,
                            .width = columns.window > 1 ? columns.dilation : 1};
  result.padding_lower = {.height = rows.before(), .width = columns.before()};
  return result;
}

}  // namespace stagecraft::detail
