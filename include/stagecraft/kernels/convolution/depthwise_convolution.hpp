// SPDX-License-Identifier: BSD-3-Clause
// The convolution of each channel with kernels of its own, bias and activation included. Keras counterpart:
// DepthwiseConv2D. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution/channel_tile.hpp>
#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/depthwise_window.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

namespace stagecraft::kernels {

namespace detail {

/// Stores Count lanes of a tile's sums, which are `Pixel` floats apart, from y[element] on.
template <int Count, int Pixel, class Arch, class Epilogue>
struct window_output {
  Epilogue const& epilogue;
  float* y;
  std::int64_t element;
  int channel;

  [[gnu::always_inline]] void operator()(int o, batch<Arch> const& sum) const {
    std::int64_t const at = element + o * Pixel;
    store_lanes<Count>(epilogue(sum, channel, at), y + at);
  }
};

}  // namespace detail

/// Floats of workspace that `depthwise_convolution` needs, for each thread: a sample whose channels are repeated.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_workspace =
    Shape.filters == Shape.channels ? 0 : static_cast<long long>(Shape.height) * Shape.width * Shape.filters + 64;

/// y = epilogue(the convolution of each channel of x with `filters / channels` kernels of w). The shape has as many
/// groups as channels. x: Batch x input and y: Batch x output of the shape, channels last, of which the multiplier
/// counts fastest; w: (kernel_height, kernel_width, filters), row by row. Up to a register behind x's end may be read.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void depthwise_convolution(float const* x, float const* w, [[maybe_unused]] float* workspace, float* y,
                           Epilogue const& epilogue = {}, share part = {}) {
  static_assert(Shape.groups == Shape.channels && Shape.filters % Shape.channels == 0);
  constexpr int filters = Shape.filters;
  constexpr detail::window_axis rows = detail::forward_rows<Shape>;
  constexpr detail::window_cut columns =
      detail::cut_window(detail::forward_columns<Shape>, detail::most_window_results<Arch>(Shape.kernel_width));
  share::range const range = part.of(Batch * detail::window_items(rows, columns, filters));
  detail::slide_windows<rows, columns, filters, Arch>(
      w, range.first, range.last,
      [&](std::int64_t sample) {
        float const* const source = x + sample * Shape.input_size();
        if constexpr (filters == Shape.channels) {
          return source;
        } else {
          detail::repeat_channels(source, Shape.height * Shape.width, Shape.channels, filters / Shape.channels,
                                  workspace);
          return static_cast<float const*>(workspace);
        }
      },
      [&](std::int64_t sample, std::int64_t pixel, int channel, auto count) {
        std::int64_t const at = sample * Shape.output_size() + pixel * filters + channel;
        return detail::window_output<decltype(count)::value, filters, Arch, Epilogue>{epilogue, y, at, channel};
      });
}

}  // namespace stagecraft::kernels
