// SPDX-License-Identifier: BSD-3-Clause
// The shape of a traced convolution for the planner of convolutions.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/operations/kinds/windows.hpp>

namespace stagecraft::tiles {

/// The convolution of (batch, places..., channels) to (batch, windows..., filters); one axis is a row, two are an
/// image. Dilation of a single element does not matter, and is left out.
constexpr convolution_shape traced_convolution(operations::windows const& windows, int groups,
                                               operations::extents const& in, operations::extents const& out,
                                               dtype type) {
  convolution_shape result;
  result.input = result.output = type;
  result.batch_size = in[0];
  result.num_conv_groups = groups;
  result.input_channels_per_conv_group = in[-1] / groups;
  result.output_channels_per_conv_group = out[-1] / groups;
  for (int i = 0; i < windows.count; ++i) {
    auto const member = windows.count == 2 && i == 0 ? &field_size::height : &field_size::width;
    auto const& window = windows[i];
    result.input_field.*member = in[i + 1];
    result.output_field.*member = out[i + 1];
    result.kernel.*member = window.size;
    result.stride.*member = window.stride;
    result.kernel_dilation.*member = window.size > 1 ? window.dilation : 1;
    result.padding_lower.*member = window.before;
  }
  return result;
}

}  // namespace stagecraft::tiles
