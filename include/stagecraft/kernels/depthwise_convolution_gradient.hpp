// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a depthwise convolution: of its input and of its kernels.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// Floats of workspace that `depthwise_convolution_input_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_input_gradient_workspace = 0;

/// dx (+)= the gradient of the input. Shapes and layouts as in `depthwise_convolution`.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_input_gradient(float const* dy, float const* w, float* /*workspace*/, float* dx,
                                          share part = {}) {
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int multiplier = Shape.filters / Shape.channels;
  share::range const pixels = part.of(static_cast<std::int64_t>(Batch) * Shape.height * Shape.width);
  for (std::int64_t pixel = pixels.first; pixel < pixels.last; ++pixel) {
    int const iw = static_cast<int>(pixel % Shape.width);
    int const ih = static_cast<int>(pixel / Shape.width % Shape.height);
    float const* sample = dy + pixel / Shape.width / Shape.height * Shape.output_size();
    for (int channel = 0; channel < Shape.channels; ++channel) {
      float sum = 0.0F;
      for (int kh = 0; kh < Shape.kernel_height; ++kh)
        for (int kw = 0; kw < Shape.kernel_width; ++kw) {
          int const h = ih + Shape.top - kh * Shape.dilation_height;
          int const v = iw + Shape.left - kw * Shape.dilation_width;
          if (h < 0 || v < 0 || h % Shape.stride_height != 0 || v % Shape.stride_width != 0) continue;
          if (h / Shape.stride_height >= out_h || v / Shape.stride_width >= out_w) continue;
          float const* const from = sample + (h / Shape.stride_height * out_w + v / Shape.stride_width) * Shape.filters;
          for (int m = channel * multiplier; m < (channel + 1) * multiplier; ++m)
            sum += from[m] * w[(kh * Shape.kernel_width + kw) * Shape.filters + m];
        }
      float& to = dx[pixel * Shape.channels + channel];
      to = Accumulate ? to + sum : sum;
    }
  }
}

/// Floats of workspace that `depthwise_convolution_filter_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_filter_gradient_workspace = 0;

/// dw (+)= the gradient of the kernels. Shapes and layouts as in `depthwise_convolution`.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_filter_gradient(float const* x, float const* dy, float* /*workspace*/, float* dw,
                                           share part = {}) {
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int multiplier = Shape.filters / Shape.channels;
  share::range const columns = part.of(Shape.filters, 16);
  for (int kh = 0; kh < Shape.kernel_height; ++kh)
    for (int kw = 0; kw < Shape.kernel_width; ++kw)
      for (std::int64_t column = columns.first; column < columns.last; ++column) {
        float sum = 0.0F;
        for (int sample = 0; sample < Batch; ++sample)
          for (int oh = 0; oh < out_h; ++oh)
            for (int ow = 0; ow < out_w; ++ow) {
              int const ih = oh * Shape.stride_height + kh * Shape.dilation_height - Shape.top;
              int const iw = ow * Shape.stride_width + kw * Shape.dilation_width - Shape.left;
              if (ih < 0 || ih >= Shape.height || iw < 0 || iw >= Shape.width) continue;
              sum += x[static_cast<std::int64_t>(sample) * Shape.input_size() +
                       (ih * Shape.width + iw) * Shape.channels + column / multiplier] *
                     dy[static_cast<std::int64_t>(sample) * Shape.output_size() + (oh * out_w + ow) * Shape.filters +
                        column];
            }
        float& to = dw[(kh * Shape.kernel_width + kw) * Shape.filters + column];
        to = Accumulate ? to + sum : sum;
      }
}

}  // namespace stagecraft::kernels
