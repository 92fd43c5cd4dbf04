// SPDX-License-Identifier: BSD-3-Clause
// What the gradient of a convolution's output means for its input; also the forward pass of Keras's Conv2DTranspose.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// Floats of workspace that `convolution_input_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_input_gradient_workspace = 0;

/// dx (+)= the gradient of the input. dy: Batch x output and dx: Batch x input of the shape, channels last;
/// w: packed_filter<Shape, Arch>.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_input_gradient(float const* dy, float const* w, float* /*workspace*/, float* dx, share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  share::range const pixels = part.of(static_cast<std::int64_t>(Batch) * Shape.height * Shape.width);
  for (std::int64_t pixel = pixels.first; pixel < pixels.last; ++pixel) {
    int const iw = static_cast<int>(pixel % Shape.width);
    int const ih = static_cast<int>(pixel / Shape.width % Shape.height);
    float const* sample = dy + pixel / Shape.width / Shape.height * Shape.output_size();
    for (int channel = 0; channel < Shape.channels; ++channel) {
      int const group = channel / channels;
      float sum = 0.0F;
      for (int kh = 0; kh < Shape.kernel_height; ++kh)
        for (int kw = 0; kw < Shape.kernel_width; ++kw) {
          int const h = ih + Shape.top - kh * Shape.dilation_height;
          int const v = iw + Shape.left - kw * Shape.dilation_width;
          if (h < 0 || v < 0 || h % Shape.stride_height != 0 || v % Shape.stride_width != 0) continue;
          if (h / Shape.stride_height >= out_h || v / Shape.stride_width >= out_w) continue;
          float const* const from =
              sample + (h / Shape.stride_height * out_w + v / Shape.stride_width) * Shape.filters + group * filters;
          int const row = (kh * Shape.kernel_width + kw) * channels + channel % channels;
          for (int f = 0; f < filters; ++f)
            sum += from[f] * w[static_cast<std::int64_t>(group) * layout::size + layout::index(row, f)];
        }
      float& to = dx[pixel * Shape.channels + channel];
      to = Accumulate ? to + sum : sum;
    }
  }
}

}  // namespace stagecraft::kernels
