// SPDX-License-Identifier: BSD-3-Clause
// Windows that convolutions and poolings slide along the axes between the batch and the channels.
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

}  // namespace stagecraft::operations
