// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and their two gradients, over one to three axes.
#pragma once

#include <stagecraft/operations/kinds/windows.hpp>

namespace stagecraft::operations {

/// Of (batch, places..., channels) with a filter (window..., channels / groups, filters): tf.nn.convolution, channels
/// last. The filters of group g see the channels of group g; a depthwise convolution has as many groups as channels.
struct convolution {
  operations::windows windows;
  int groups = 1;

  constexpr bool out(extents const& in, extents const& filter, extents& result) const {
    if (filter.rank != windows.count + 2 || groups < 1) return false;
    for (int i = 0; i < windows.count; ++i)
      if (filter[i] != windows[i].size) return false;
    if (in.rank < 2 || in[-1] != filter[-2] * groups || filter[-1] % groups != 0) return false;
    return windows.out(in, filter[-1], result);
  }
  [[nodiscard]] static constexpr long long flops(extents const& filter, extents const& out) {
    return 2 * out.size() * (filter.size() / filter[-1]);
  }
};

/// Of a gradient (batch, windows..., filters) with the filter: what Keras's transposed convolutions compute, too. Its
/// extents are those of the convolution's input.
struct convolution_input_gradient {
  operations::windows windows;
  int groups = 1;
};

/// Of the convolution's input with a gradient of its output. Its extents are those of the filter.
struct convolution_filter_gradient {
  operations::windows windows;
  int groups = 1;
};

}  // namespace stagecraft::operations
