// SPDX-License-Identifier: BSD-3-Clause
// The micro-kernels of the depthwise convolutions: a register of channels of neighbouring pixels in a row, over which
// a kernel slides. The taps that each pixel meets, at the borders too, are known at compile time, so that a pixel is
// read once for all taps of a kernel's row. Private to the kernels.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/gathered_tile.hpp>
#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace stagecraft::kernels::detail {

/// One axis. Result o and tap t meet the source at `o * stride + t * dilation - before`; if it is transposed (the
/// gradient of such an axis), at `(o + before - t * dilation) / stride` where that leaves no remainder.
struct window_axis {
  int results = 1;
  int extent = 1;
  int taps = 1;
  int stride = 1;
  int dilation = 1;
  int before = 0;
  bool transposed = false;

  static constexpr int nowhere = -(1 << 30);

  /// The place in the source where result o meets tap t, or nowhere; it may lie beyond the borders.
  [[nodiscard]] constexpr int source(int o, int t) const {
    if (!transposed) return o * stride + t * dilation - before;
    int const at = o + before - t * dilation;
    return at % stride == 0 ? at / stride : nowhere;
  }
  /// The distance in the source of `o` results, which are a multiple of the stride if it is transposed.
  [[nodiscard]] constexpr int moved(int o) const { return transposed ? o / stride : o * stride; }
};

/// The axes of a convolution.
template <convolution_shape Shape>
inline constexpr window_axis forward_rows{Shape.output_height(), Shape.height,          Shape.kernel_height,
                                          Shape.stride_height,   Shape.dilation_height, Shape.top};
template <convolution_shape Shape>
inline constexpr window_axis forward_columns{Shape.output_width(), Shape.width,          Shape.kernel_width,
                                             Shape.stride_width,   Shape.dilation_width, Shape.left};

/// Neighbouring results, and the pixels of the source that they meet, counted from `moved(first result)`.
struct window_tile {
  int results = 0;
  int first = 0;
  int last = 0;

  friend constexpr bool operator==(window_tile const&, window_tile const&) = default;
};

/// The division of an axis into tiles of `width` results; the last one may have fewer.
struct window_cut {
  window_axis axis = {};
  int width = 1;

  [[nodiscard]] constexpr int tiles() const { return (axis.results + width - 1) / width; }
  [[nodiscard]] constexpr window_tile tile(int number) const {
    int const left = axis.results - number * width;
    window_tile found{left < width ? left : width, axis.extent, -axis.extent};
    int const base = axis.moved(number * width);
    for (int o = 0; o < found.results; ++o)
      for (int t = 0; t < axis.taps; ++t) {
        int const at = axis.source(o, t);
        if (at == window_axis::nowhere || at + base < 0 || at + base >= axis.extent) continue;
        if (at < found.first) found.first = at;
        if (at >= found.last) found.last = at + 1;
      }
    if (found.first >= found.last) found.first = found.last = 0;
    return found;
  }
  /// The end of the tiles from `number` on that are alike.
  [[nodiscard]] constexpr int run_end(int number) const {
    int end = number + 1;
    while (end < tiles() && tile(end) == tile(number)) ++end;
    return end;
  }
};

/// A division into tiles of about `most` results, as equal as possible.
[[nodiscard]] consteval window_cut cut_window(window_axis const& axis, int most) {
  int const step = axis.transposed ? axis.stride : 1;
  int const tiles = (axis.results + most - 1) / most;
  int const width = (axis.results + tiles - 1) / tiles;
  return {axis, (width + step - 1) / step * step};
}

/// A tile of an axis, as a type: GCC 12 cannot use such values in lambdas.
template <window_axis Axis, window_tile Tile>
struct window {
  static constexpr int taps = Axis.taps;
  static constexpr int extent = Axis.extent;
  static constexpr int all_results = Axis.results;
  static constexpr int results = Tile.results;
  static constexpr int first = Tile.first;
  static constexpr int last = Tile.last;

  /// The result of the tile that meets the tap at this pixel, or -1.
  [[nodiscard]] static constexpr int result(int pixel, int tap) {
    int const moved = tap * Axis.dilation - Axis.before;
    int const o = Axis.transposed ? pixel * Axis.stride + moved : (pixel - moved) / Axis.stride;
    return o >= 0 && o < results && Axis.source(o, tap) == pixel ? o : -1;
  }
};

/// Calls visit(window<...>()) for a tile.
template <window_cut Cut, int Number = 0, class Visit>
[[gnu::always_inline]] inline void with_window(int number, Visit const& visit) {
  constexpr int end = Cut.run_end(Number);
  if constexpr (end < Cut.tiles()) {
    if (number >= end) return with_window<Cut, end>(number, visit);
  }
  visit(window<Cut.axis, Cut.tile(Number)>());
}

/// Calls visit(constant) for the constants from First to Last - 1.
template <int First, int Last, class Visit>
[[gnu::always_inline]] inline void for_constants(Visit const& visit) {
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, First + Index>()), ...);
  }(std::make_integer_sequence<int, Last - First>());
}

/// A row of the source that a row of results meets, and the first tap of the kernel's row.
struct window_row {
  std::ptrdiff_t source = 0;
  std::ptrdiff_t tap = 0;
};

/// All rows of the source that a row of results meets.
template <int Most>
struct window_rows {
  int count = 0;
  window_row row[Most] = {};

  window_rows(window_axis const& axis, int result, std::ptrdiff_t source_row, int taps) {
    for (int t = 0; t < axis.taps; ++t)
      if (int const at = axis.source(result, t); at >= 0 && at < axis.extent)
        row[count++] = {at * source_row, std::ptrdiff_t{t} * taps};
  }
};

/// The number of results whose sums stay in registers, beside the taps of a kernel's row.
template <class Arch>
[[nodiscard]] consteval int most_window_results(int taps) {
  int const registers = vector_registers<Arch>() - scratch_registers<Arch>() - 1;
  int const beside = registers - (taps < registers / 3 ? taps : registers / 3);
  int const most = beside < 14 ? beside : 14;
  return most * taps <= 98 ? most : taps < 98 / 2 ? 98 / taps : 2;
}

/// Calls finish(o, sum) with the sum over all rows and taps of the source times the kernel, for each result of a tile.
/// `source` is the tile's register of channels, where column `moved(first result)` would lie in row 0; `Pixel` and
/// `tap` are the floats between columns and taps. The sums go from their registers through `finish`: by way of memory
/// they would take as many stores again, which is half of the time of the products.
template <class Window, int Pixel, class Arch, class Finish>
[[gnu::noinline]] void slide_window(float const* source, float const* kernel, std::ptrdiff_t tap, window_row const* row,
                                    window_row const* end, Finish const& finish) {
  batch<Arch> sum[Window::results];
#pragma GCC unroll 64
  for (int o = 0; o < Window::results; ++o) sum[o] = batch<Arch>(0.0F);
  for (; row != end; ++row) {
    float const* const from = source + row->source;
    float const* factors = kernel + row->tap * tap;
    batch<Arch> factor[Window::taps];
#pragma GCC unroll 64
    for (int t = 0; t < Window::taps; ++t, factors += tap) factor[t] = load_once<Arch>(factors);
    for_constants<Window::first, Window::last>(
        [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
          batch<Arch> const pixel = load_once<Arch>(from + static_cast<std::ptrdiff_t>(At) * Pixel);
#pragma GCC unroll 64
          for (int t = 0; t < Window::taps; ++t)
            if (int const o = Window::result(At, t); o >= 0) sum[o] = fused_multiply_add(pixel, factor[t], sum[o]);
        });
  }
  for_constants<0, Window::results>([&](auto o) __attribute__((always_inline)) { finish(o, batch<Arch>(sum[o])); });
}

/// Rows of a kernel whose sums stay in registers, in its gradient; groups are as equal as possible.
template <class Arch>
[[nodiscard]] consteval int most_group_rows(int rows, int taps) {
  int const sums = vector_registers<Arch>() == 32 ? 15 : 9;
  int const most = sums / taps > 0 ? sums / taps : 1;
  int const groups = (rows + most - 1) / most;
  return (rows + groups - 1) / groups;
}

/// Number of the gradient's pixels that stay in registers beside `sums` sums.
template <class Arch>
[[nodiscard]] consteval int most_group_results(int sums) {
  int const most = vector_registers<Arch>() - scratch_registers<Arch>() - 1 - sums;
  return most < 4 ? 4 : most < 14 ? most : 14;
}

/// Adds to sums[tap * distance + lane], for `Group` rows of taps from `tap_row` on, the sums of x times dy over rows
/// [first, last) of a tile. `x` is the tile's register of channels, as in slide_window; dy, in row 0.
template <class Window, window_axis Rows, int Group, int Pixel, class Arch>
[[gnu::noinline]] void slide_products(float const* x, float const* dy, int first, int last, int tap_row, float* sums,
                                      std::ptrdiff_t distance) {
  constexpr int taps = Window::taps;
  batch<Arch> sum[Group * taps];
#pragma GCC unroll 16
  for (int t = 0; t < Group * taps; ++t) sum[t] = batch<Arch>(0.0F);
  constexpr int height = Rows.extent;
  constexpr int dilation = Rows.dilation;
  std::ptrdiff_t group = Rows.taps - tap_row < Group ? Rows.taps - tap_row : Group;
  for (int row = first; row < last; ++row) {
    keep_in_register(group);
    float const* const right = dy + static_cast<std::ptrdiff_t>(row) * Window::all_results * Pixel;
    batch<Arch> factor[Window::results];
#pragma GCC unroll 64
    for (int o = 0; o < Window::results; ++o) factor[o] = load_once<Arch>(right + o * Pixel);
    int const source = Rows.source(row, tap_row);
    for_constants<0, Group>([&]<int R>(std::integral_constant<int, R>) __attribute__((always_inline)) {
      int const at = source + R * dilation;
      if (R >= group || at < 0 || at >= height) return;
      float const* const from = x + static_cast<std::ptrdiff_t>(at) * Window::extent * Pixel;
      for_constants<Window::first, Window::last>(
          [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
            batch<Arch> const pixel = load_once<Arch>(from + static_cast<std::ptrdiff_t>(At) * Pixel);
            for_constants<0, taps>([&]<int T>(std::integral_constant<int, T>) __attribute__((always_inline)) {
              constexpr int o = Window::result(At, T);
              if constexpr (o >= 0) sum[R * taps + T] = fused_multiply_add(pixel, factor[o], sum[R * taps + T]);
            });
          });
    });
  }
  for_constants<0, Group * taps>([&](auto t) __attribute__((always_inline)) {
    if (t >= group * taps) return;
    float* const to = sums + (tap_row * taps + t) * distance;
    (batch<Arch>::load_unaligned(to) + batch<Arch>(sum[t])).store_unaligned(to);
  });
}

/// The kernels' last channels, if they do not fill a register: each tap has a register of its own, zeros after them.
template <int Taps, int Channels, class Arch>
struct window_tail {
  static constexpr int rest = Channels % lanes<Arch>;
  alignas(64) float values[(rest > 0 ? Taps : 1) * lanes<Arch>];

  explicit window_tail([[maybe_unused]] float const* kernel) {
    if constexpr (rest > 0)
      for (int t = 0; t < Taps; ++t)
        load_first<Arch>(kernel + t * Channels + Channels - rest, rest).store_aligned(values + t * lanes<Arch>);
  }
};

/// Channels that are computed before the next ones, so that the rows that a kernel meets stay in the first-level cache.
[[nodiscard]] consteval int window_channels(window_axis const& rows, window_cut const& columns, int channels) {
  int const row = columns.axis.extent;
  int const floats = (rows.transposed ? (rows.taps + rows.stride - 1) / rows.stride : rows.taps) * row;
  int blocks = 1;
  while (channels / blocks > 64 && floats * (channels / blocks) > 6144) ++blocks;
  int const block = (channels + blocks - 1) / blocks;
  return blocks == 1 ? channels : (block + 15) / 16 * 16;
}

/// Items of a sample.
[[nodiscard]] consteval std::int64_t window_items(window_axis const& rows, window_cut const& columns, int channels) {
  int const block = window_channels(rows, columns, channels);
  return std::int64_t{rows.results} * columns.tiles() * ((channels + block - 1) / block);
}

/// Items [first, last) of a pass over samples of Rows.results x Columns.axis.results pixels; an item is a tile of a row
/// of a block of channels. Calls begin_sample(sample), which returns the source, and, for each register of channels,
/// finish(sample, pixel of the first result in the sample, channel, valid lanes), which returns `slide_window`'s
/// finish.
template <window_axis Rows, window_cut Columns, int Channels, class Arch, class BeginSample, class Finish>
void slide_windows(float const* kernel, std::int64_t first, std::int64_t last, BeginSample const& begin_sample,
                   Finish const& finish) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Channels / width * width;
  constexpr int tiles = Columns.tiles();
  constexpr int block = window_channels(Rows, Columns, Channels);
  constexpr int blocks = (Channels + block - 1) / block;
  window_tail<Rows.taps * Columns.axis.taps, Channels, Arch> const tail(kernel);
  std::int64_t sample = -1;
  float const* source = nullptr;
  for (std::int64_t item = first; item < last;) {
    std::int64_t const all_rows = item / tiles;
    int const row = static_cast<int>(all_rows % Rows.results);
    std::int64_t const all_blocks = all_rows / Rows.results;
    int const first_channel = static_cast<int>(all_blocks % blocks) * block;
    int const end_channel = first_channel + block < Channels ? first_channel + block : Channels;
    int const whole_end = end_channel < whole ? end_channel : whole;
    if (all_blocks / blocks != sample) {
      sample = all_blocks / blocks;
      source = begin_sample(sample);
    }
    window_rows<Rows.taps> const rows(Rows, row, std::ptrdiff_t{Columns.axis.extent} * Channels, Columns.axis.taps);
    std::int64_t const row_end = (all_rows + 1) * tiles < last ? (all_rows + 1) * tiles : last;
    for (; item < row_end; ++item) {
      int const number = static_cast<int>(item - all_rows * tiles);
      int const column = number * Columns.width;
      float const* const from = source + static_cast<std::ptrdiff_t>(Columns.axis.moved(column)) * Channels;
      std::int64_t const pixel = std::int64_t{row} * Columns.axis.results + column;
      with_window<Columns>(number, [&]<class Window>(Window) __attribute__((always_inline)) {
        for (int channel = first_channel; channel < whole_end; channel += width) {
          slide_window<Window, Channels, Arch>(from + channel, kernel + channel, Channels, rows.row,
                                               rows.row + rows.count,
                                               finish(sample, pixel, channel, std::integral_constant<int, width>()));
        }
        if constexpr (whole < Channels) {
          if (end_channel < Channels) return;
          slide_window<Window, Channels, Arch>(
              from + whole, tail.values, width, rows.row, rows.row + rows.count,
              finish(sample, pixel, whole, std::integral_constant<int, Channels - whole>()));
        }
      });
    }
  }
}

}  // namespace stagecraft::kernels::detail
