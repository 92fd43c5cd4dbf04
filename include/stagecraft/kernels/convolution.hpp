// SPDX-License-Identifier: BSD-3-Clause
// The convolution of a batch with a packed filter, bias and activation included. Keras counterpart: Conv1D, Conv2D.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/epilogue.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// Floats of workspace that `convolution` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_workspace = 0;

/// y = epilogue(the convolution of x with w). x: Batch x input and y: Batch x output of the shape, channels last;
/// w: packed_filter<Shape, Arch>.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void convolution(float const* x, float const* w, float* /*workspace*/, float* y, Epilogue const& epilogue = {},
                 share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  share::range const pixels = part.of(static_cast<std::int64_t>(Batch) * out_h * out_w);
  for (std::int64_t pixel = pixels.first; pixel < pixels.last; ++pixel) {
    int const ow = static_cast<int>(pixel % out_w);
    int const oh = static_cast<int>(pixel / out_w % out_h);
    float const* sample = x + pixel / out_w / out_h * Shape.input_size();
    for (int group = 0; group < Shape.groups; ++group)
      for (int filter = 0; filter < filters; filter += width) {
        float const* const panel = w + static_cast<std::int64_t>(group) * layout::size + layout::index(0, filter);
        batch<Arch> sum(0.0F);
        for (int kh = 0; kh < Shape.kernel_height; ++kh)
          for (int kw = 0; kw < Shape.kernel_width; ++kw) {
            int const ih = oh * Shape.stride_height + kh * Shape.dilation_height - Shape.top;
            int const iw = ow * Shape.stride_width + kw * Shape.dilation_width - Shape.left;
            if (ih < 0 || ih >= Shape.height || iw < 0 || iw >= Shape.width) continue;
            float const* const from = sample + (ih * Shape.width + iw) * Shape.channels + group * channels;
            float const* const right = panel + (kh * Shape.kernel_width + kw) * channels * layout::panel_columns;
            for (int c = 0; c < channels; ++c)
              sum = fused_multiply_add(batch<Arch>(from[c]),
                                       batch<Arch>::load_unaligned(right + c * layout::panel_columns), sum);
          }
        int const column = group * filters + filter;
        std::int64_t const element = pixel * Shape.filters + column;
        store_first(epilogue(sum, column, element), y + element, filters - filter < width ? filters - filter : width);
      }
  }
}

}  // namespace stagecraft::kernels
