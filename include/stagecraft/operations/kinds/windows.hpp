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
  int before = 0;  ///< places of padding before the first element
  int after = 0;   ///< places of padding after the last element

  /// Number of windows along an axis of `length` places; below 1 if none fits.
  [[nodiscard]] constexpr int count(int length) const {
    int const free = length + before + after - ((size - 1) * dilation + 1);
    return free < 0 ? 0 : free / stride + 1;
  }
  /// Keras's `padding="same"`: as many windows as strides, and an odd place of padding at the end.
  [[nodiscard]] static constexpr window same(int length, int size, int stride = 1, int dilation = 1) {
    int const windows = (length + stride - 1) / stride;
    int const reach = (windows - 1) * stride + (size - 1) * dilation + 1;
    int const padding = reach > length ? reach - length : 0;
    return {size, stride, dilation, padding / 2, padding - padding / 2};
  }

  friend constexpr bool operator==(window const&, window const&) = default;
};

/// A window for each axis between the batch and the channels, at most three.
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
  /// Sets `result` to (batch, windows..., channels); returns false if `in` has other axes, or no window fits.
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

/// A convolution of (batch, places..., channels) with a filter (window..., channels / groups, filters):
/// tf.nn.convolution, channels last. The filters of group g see the channels of group g; a depthwise convolution has as
/// many groups as channels.
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

/// The gradient of a convolution's input, from a gradient (batch, windows..., filters) and the filter. Keras's
/// transposed convolutions compute the same.
struct convolution_input_gradient {
  operations::windows windows;
  int groups = 1;
};

/// The gradient of a convolution's filter, from the input and a gradient of the output.
struct convolution_filter_gradient {
  operations::windows windows;
  int groups = 1;
};

/// The rule that reduces a window to one number. Padding does not count in either kind, as in Keras.
enum class pooling_kind : unsigned char { max, average };

/// A pooling of (batch, places..., channels); each channel is pooled by itself.
struct pooling {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;

  [[nodiscard]] constexpr long long flops(extents const& out) const { return out.size() * windows.size(); }
};

/// The gradient of a pooling's input, from its input, its output and a gradient of the output. The first maximum of a
/// window gets all of the window's gradient.
struct pooling_gradient {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;
};

}  // namespace stagecraft::operations
