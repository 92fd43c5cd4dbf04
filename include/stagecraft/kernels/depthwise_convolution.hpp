// SPDX-License-Identifier: BSD-3-Clause
// The convolution of each channel with kernels of its own, bias and activation included. Keras counterpart:
// DepthwiseConv2D. Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/channel_tile.hpp>
#include <stagecraft/kernels/convolution.hpp>
#include <stagecraft/kernels/convolution_shape.hpp>
#include <stagecraft/kernels/epilogue.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

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
  constexpr detail::correlation const& shape =
      detail::forward_correlation<1, detail::repeated_channels<Shape>>::parts[0];
  constexpr int filters = Shape.filters;
  constexpr std::int64_t tiles = shape.tiles(detail::channel_tile_rows);
  share::range const range = part.of(Batch * tiles);
  for (std::int64_t item = range.first; item < range.last;) {
    std::int64_t const sample = item / tiles;
    std::int64_t const begin = sample * tiles;
    std::int64_t const last = range.last - begin < tiles ? range.last - begin : tiles;
    float const* source = x + sample * Shape.input_size();
    if constexpr (filters != Shape.channels) {
      detail::repeat_channels(source, Shape.height * Shape.width, Shape.channels, filters / Shape.channels, workspace);
      source = workspace;
    }
    std::int64_t const first_element = sample * Shape.output_size();
    detail::correlate_channels<Arch>(
        shape, filters, source, {w, Shape.kernel_width * filters, filters}, item - begin, last,
        [&](int, int channel, int count, std::int64_t element, batch<Arch> const& sum) {
          std::int64_t const at = first_element + element;
          batch<Arch> const value = epilogue(sum, channel, at);
          if (count == lanes<Arch>)
            value.store_unaligned(y + at);
          else
            store_first(value, y + at, count);
        },
        [](int, std::int64_t const*) {});
    item = begin + last;
  }
}

}  // namespace stagecraft::kernels
