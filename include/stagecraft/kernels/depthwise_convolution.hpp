// SPDX-License-Identifier: BSD-3-Clause
// The convolution of each channel with kernels of its own, bias and activation included. Keras counterpart:
// DepthwiseConv2D. Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/epilogue.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// Floats of workspace that `depthwise_convolution` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_workspace = 0;

/// y = epilogue(the convolution of each channel of x with `filters / channels` kernels of w). The shape has as many
/// groups as channels. x: Batch x input and y: Batch x output of the shape, channels last, of which the multiplier
/// counts fastest; w: (kernel_height, kernel_width, filters), row by row.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void depthwise_convolution(float const* x, float const* w, float* /*workspace*/, float* y,
                           Epilogue const& epilogue = {}, share part = {}) {
  static_assert(Shape.groups == Shape.channels && Shape.filters % Shape.channels == 0);
  constexpr int width = lanes<Arch>;
  constexpr int out_h = Shape.output_height();
  constexpr int out_w = Shape.output_width();
  constexpr int multiplier = Shape.filters / Shape.channels;
  share::range const pixels = part.of(static_cast<std::int64_t>(Batch) * out_h * out_w);
  for (std::int64_t pixel = pixels.first; pixel < pixels.last; ++pixel) {
    int const ow = static_cast<int>(pixel % out_w);
    int const oh = static_cast<int>(pixel / out_w % out_h);
    float const* sample = x + pixel / out_w / out_h * Shape.input_size();
    for (int column = 0; column < Shape.filters; column += width) {
      int const count = Shape.filters - column < width ? Shape.filters - column : width;
      alignas(64) float sum[width] = {};
      for (int kh = 0; kh < Shape.kernel_height; ++kh)
        for (int kw = 0; kw < Shape.kernel_width; ++kw) {
          int const ih = oh * Shape.stride_height + kh * Shape.dilation_height - Shape.top;
          int const iw = ow * Shape.stride_width + kw * Shape.dilation_width - Shape.left;
          if (ih < 0 || ih >= Shape.height || iw < 0 || iw >= Shape.width) continue;
          float const* const from = sample + (ih * Shape.width + iw) * Shape.channels;
          float const* const weight = w + (kh * Shape.kernel_width + kw) * Shape.filters + column;
          for (int i = 0; i < count; ++i) sum[i] += from[(column + i) / multiplier] * weight[i];
        }
      std::int64_t const element = pixel * Shape.filters + column;
      store_first(epilogue(batch<Arch>::load_aligned(sum), column, element), y + element, count);
    }
  }
}

}  // namespace stagecraft::kernels
