// SPDX-License-Identifier: BSD-3-Clause
// Which outputs of a convolution see which part of its kernel: found at compile time, so that no zeros are copied
// around an input, and none are multiplied. Private to the kernels.
#pragma once

#include <cstdint>

namespace stagecraft::kernels::detail {

/// One axis of a convolution: output o and tap t meet the source at `o * stride + origin + t * dilation`, where it is
/// within [0, extent).
struct convolution_axis {
  int outputs = 1;
  int extent = 1;
  int taps = 1;
  int stride = 1;
  int origin = 0;
  int dilation = 1;
};

/// Neighbouring outputs [first, first + count) that see the same taps [tap, tap + taps), and no others.
struct tap_class {
  int first = 0;
  int count = 0;
  int tap = 0;
  int taps = 0;
};

/// The taps that output o sees.
[[nodiscard]] constexpr tap_class taps_of_output(convolution_axis const& axis, int o) {
  int const at = o * axis.stride + axis.origin;
  int const begin = at >= 0 ? 0 : (-at + axis.dilation - 1) / axis.dilation;
  int const behind = axis.extent - 1 - at;
  int const last = behind < 0 ? -1 : behind / axis.dilation;
  int const end = last + 1 < axis.taps ? last + 1 : axis.taps;
  return begin < end ? tap_class{o, 1, begin, end - begin} : tap_class{o, 1, 0, 0};
}

/// All classes of an axis. There are at most twice as many as taps, and one.
template <int Most>
struct tap_classes {
  tap_class item[Most] = {};
  int count = 0;
};

[[nodiscard]] constexpr int most_classes(int taps) { return 2 * taps + 1; }

template <int Most>
[[nodiscard]] constexpr tap_classes<Most> classify(convolution_axis const& axis) {
  tap_classes<Most> found;
  for (int o = 0; o < axis.outputs; ++o) {
    tap_class const next = taps_of_output(axis, o);
    if (found.count > 0) {
      tap_class& before = found.item[found.count - 1];
      if (before.tap == next.tap && before.taps == next.taps) {
        ++before.count;
        continue;
      }
    }
    found.item[found.count++] = next;
  }
  return found;
}

}  // namespace stagecraft::kernels::detail
