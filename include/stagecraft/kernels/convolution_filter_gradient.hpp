// SPDX-License-Identifier: BSD-3-Clause
// What the gradient of a convolution's output means for its filters.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// Floats of workspace that `convolution_filter_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_filter_gradient_workspace = 0;

/// dw (+)= the gradient of the filters. x: Batch x input and dy: Batch x output of the shape, channels last; up to a
/// register behind dy's end may be read. dw: packed_filter<Shape, Arch>, whose padding must be 0 and stays 0.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_filter_gradient(float const* x, float const* dy, float* /*workspace*/, float* dw, share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  share::range const rows = part.of(static_cast<std::int64_t>(Shape.groups) * Shape.steps());
  for (std::int64_t item = rows.first; item < rows.last; ++item) {
    int const group = static_cast<int>(item / Shape.steps());
    int const row = static_cast<int>(item % Shape.steps());
    int const kw = row / channels % Shape.kernel_width;
    int const kh = row / channels / Shape.kernel_width;
    for (int filter = 0; filter < filters; filter += width) {
      int const count = filters - filter < width ? filters - filter : width;
      batch<Arch> sum(0.0F);
      for (int sample = 0; sample < Batch; ++sample)
        for (int oh = 0; oh < out_h; ++oh)
          for (int ow = 0; ow < out_w; ++ow) {
            int const ih = oh * Shape.stride_height + kh * Shape.dilation_height - Shape.top;
            int const iw = ow * Shape.stride_width + kw * Shape.dilation_width - Shape.left;
            if (ih < 0 || ih >= Shape.height || iw < 0 || iw >= Shape.width) continue;
            float const* const from = x + static_cast<std::int64_t>(sample) * Shape.input_size() +
                                      (ih * Shape.width + iw) * Shape.channels + group * channels + row % channels;
            float const* const right = dy + static_cast<std::int64_t>(sample) * Shape.output_size() +
                                       (oh * out_w + ow) * Shape.filters + group * filters + filter;
            sum = fused_multiply_add(batch<Arch>(*from), load_first<Arch>(right, count), sum);
          }
      float* const to = dw + static_cast<std::int64_t>(group) * layout::size + layout::index(row, filter);
      if (Accumulate) sum = sum + load_first<Arch>(to, count);
      store_first(sum, to, count);
    }
  }
}

}  // namespace stagecraft::kernels
