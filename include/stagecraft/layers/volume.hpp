// SPDX-License-Identifier: BSD-3-Clause
// Windows over volumes, made of windows over images, for which machines have fast kernels: conv3d, conv3d_transpose and
// the poolings of volumes.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/layers/traced_call.hpp>

namespace stagecraft::layers::detail {

/// (batch, depth, height, width, channels) as images: (batch * depth, height, width, channels).
constexpr operations::extents images_of(operations::extents const& volume, int depth, int channels) {
  return {volume[0] * depth, volume[2], volume[3], channels};
}
/// The windows along height and width.
constexpr operations::windows image_windows(operations::windows const& over) { return {over[1], over[2]}; }

/// The filter of a volume (depth, height, width, inputs, filters) as a filter of images, whose channels are those of
/// all slices.
constexpr auto filter_of_images(auto& ops, auto filter) {
  int const taps = filter.length(0), rows = filter.length(1), columns = filter.length(2), inputs = filter.length(3),
            filters = filter.length(4);
  return ops.reshape(ops.transpose(filter, {1, 2, 0, 3, 4}), {rows, columns, taps * inputs, filters});
}

/// Puts channels (outer, inner, each) into the order (inner, outer, each).
constexpr auto exchange_channels(auto& ops, auto images, int outer, int inner) {
  if (outer == 1 || inner == 1) return images;
  auto const own = images.shape();
  int const pixels = own[0] * own[1] * own[2], each = own[3] / (outer * inner);
  return ops.reshape(ops.transpose(ops.reshape(images, {pixels, outer, inner, each}), {0, 2, 1, 3}), own);
}

/// A convolution of volumes (batch, depth, height, width, channels) with a filter (depth, height, width, channels /
/// groups, filters), as a convolution of images whose channels are those of all slices under the window.
constexpr auto convolve_volume(auto& ops, auto x, auto filter, operations::windows const& over, int groups) {
  auto const along = over[0];
  int const depth = along.count(x.length(1));
  auto const padded = ops.pad(x, 1, along.before, along.after);
  growing_array<decltype(x)> slices;
  for (int tap = 0; tap < along.size; ++tap)
    slices.push_back(ops.reshape(ops.slice(padded, 1, tap * along.dilation, depth, along.stride),
                                 images_of(x.shape(), depth, x.length(4))));
  auto const images = exchange_channels(ops, ops.concatenate(slices), along.size, groups);
  auto const y = ops.conv(images, filter_of_images(ops, filter), image_windows(over), groups);
  return ops.reshape(y, {x.length(0), depth, y.length(1), y.length(2), y.length(3)});
}

/// The gradient of convolve_volume without groups, with respect to an input of this shape.
constexpr auto convolve_volume_back(auto& ops, auto y, auto filter, operations::windows const& over,
                                    operations::extents const& shape) {
  auto const along = over[0];
  int const channels = shape[4], depth = y.length(1), padded = shape[1] + along.before + along.after;
  auto const images =
      ops.conv_transpose(ops.reshape(y, images_of(y.shape(), depth, y.length(4))), filter_of_images(ops, filter),
                         image_windows(over), images_of(shape, depth, along.size * channels));
  operations::extents const one(shape[0], depth, shape[2], shape[3], channels);
  operations::extents all = one;
  all[1] = padded;
  auto const part = [&](int tap) {
    auto const of_tap = ops.reshape(ops.slice(images, -1, tap * channels, channels), one);
    return ops.scattered(of_tap, {1, tap * along.dilation, along.stride}, all);
  };
  auto sum = part(0);
  for (int tap = 1; tap < along.size; ++tap) sum += part(tap);
  return ops.slice(sum, 1, along.before, shape[1]);
}

/// Pools volumes by `pool(x, windows)`, which reduces windows of images: first in slices, then along the depth. A mean
/// of means is exact, since all slices under a window have the same number of places.
constexpr auto pool_volume(auto& ops, auto x, operations::windows const& over, auto const& pool) {
  int const batch = x.length(0), depth = x.length(1), channels = x.length(4);
  auto const slices = pool(ops.reshape(x, images_of(x.shape(), depth, channels)), image_windows(over));
  int const rows = slices.length(1), columns = slices.length(2);
  operations::windows const deep{over[0], operations::window{}};
  auto const y = pool(ops.reshape(slices, {batch, depth, rows * columns, channels}), deep);
  return ops.reshape(y, {batch, y.length(1), rows, columns, channels});
}

}  // namespace stagecraft::layers::detail
