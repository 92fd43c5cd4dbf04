// SPDX-License-Identifier: BSD-3-Clause
// Windows that slide along the axes between the batch and the channels: convolutions and poolings over one to three
// axes, and their gradients.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// A window along one axis.
struct window {
  int size = 1;
  int stride = 1;
  int dilation = 1;
  int before = 0;  ///< places of padding in front
  int after = 0;   ///< and behind

  /// How many windows there are along an axis of `length` places; below 1 if not one fits.
  [[nodiscard]] constexpr int count(int length) const {
    int const free = length + before + after - ((size - 1) * dilation + 1);
    return free < 0 ? 0 : free / stride + 1;
  }
  /// Keras's `padding="same"`: as many windows as strides, and the odd place of padding behind.
  [[nodiscard]] static constexpr window same(int length, int size, int stride = 1, int dilation = 1) {
    int const windows = (length + stride - 1) / stride;
    int const reach = (windows - 1) * stride + (size - 1) * dilation + 1;
    int const padding = reach > length ? reach - length : 0;
    return {size, stride, dilation, padding / 2, padding - padding / 2};
  }

  friend constexpr bool operator==(window const&, window const&) = default;
};

/// Windows that convolutions and poolings slide along the axes between the batch and the channels.
/// One for each axis between the batch and the channels, at most three.
struct windows {
  static constexpr int max_count = 3;
  window along[max_count]{};
  int count = 0;

  constexpr windows() = default;
  template <std::same_as<window>... Windows>
    requires(sizeof...(Windows) >= 1 && sizeof...(Windows) <= max_count)
  constexpr explicit(false) windows(Windows... each) : along{each...}, count(sizeof...(Windows)) {}

  [[nodiscard]] constexpr window const& operator[](int axis) const { return along[axis]; }
  /// Places of one window.
  [[nodiscard]] constexpr long long size() const noexcept {
    long long product = 1;
    for (int i = 0; i < count; ++i) product *= along[i].size;
    return product;
  }
  /// Sets `result` to (batch, windows..., channels); false if `in` has other axes, or no window fits.
  constexpr bool out(extents const& in, int channels, extents& result) const {
    if (in.rank != count + 2) return false;
    extents places = in;
    for (int i = 0; i < count; ++i) {
      places[i + 1] = along[i].count(in[i + 1]);
      if (places[i + 1] < 1) return false;
    }
    places[-1] = channels;
    result = places;
    return true;
  }

  friend constexpr bool operator==(windows const&, windows const&) = default;
};

/// Convolutions and their two gradients, over one to three axes.
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

/// What a window becomes. Padding counts in neither, as in Keras.
enum class pooling_kind : unsigned char { max, average };

/// Poolings and their gradient, over one to three axes.
/// Of (batch, places..., channels), for each channel.
struct pooling {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;

  [[nodiscard]] constexpr long long flops(extents const& out) const { return out.size() * windows.size(); }
};

/// Of the pooling's input, its output and a gradient of its output. The first maximum of a window gets all of its
/// gradient.
struct pooling_gradient {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;
};

}  // namespace stagecraft::operations
