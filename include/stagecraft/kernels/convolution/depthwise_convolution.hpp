// SPDX-License-Identifier: BSD-3-Clause
// The convolution of each channel with kernels of its own, bias and activation included, and its gradients by input and
// kernels. Keras counterpart: DepthwiseConv2D. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/convolution/channel_tile.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
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
/// counts fastest; w: (kernel_height, kernel_width, filters), row by row. Up to a register after x's end may be read.
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

/// Floats of workspace that `depthwise_convolution_input_gradient` needs, for each thread: a tile of gradients, one for
/// each repetition of a channel.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_input_gradient_workspace =
    Shape.filters == Shape.channels ? 0 : static_cast<long long>(detail::channel_tile_rows) * (Shape.filters + 16);

namespace detail {

/// Stores, or adds, Count lanes of a tile's sums, which are `Pixel` floats apart.
template <int Count, int Pixel, bool Accumulate, class Arch>
struct window_gradient {
  float* to;

  [[gnu::always_inline]] void operator()(int o, batch<Arch> sum) const {
    if constexpr (Accumulate) sum = sum + load_lanes<Count, Arch>(to + o * Pixel);
    store_lanes<Count>(sum, to + o * Pixel);
  }
};

/// dx (+)= the gradient of the input, where there is one kernel for each channel.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch>
void slide_input_gradient(float const* dy, float const* w, float* dx, share part) {
  constexpr int channels = Shape.channels;
  constexpr window_axis rows{
      Shape.height, Shape.output_height(), Shape.kernel_height, Shape.stride_height, Shape.dilation_height, Shape.top,
      true};
  constexpr window_cut columns = cut_window({Shape.width, Shape.output_width(), Shape.kernel_width, Shape.stride_width,
                                             Shape.dilation_width, Shape.left, true},
                                            most_window_results<Arch>(Shape.kernel_width));
  share::range const range = part.of(Batch * window_items(rows, columns, channels));
  slide_windows<rows, columns, channels, Arch>(
      w, range.first, range.last, [&](std::int64_t sample) { return dy + sample * Shape.output_size(); },
      [&](std::int64_t sample, std::int64_t pixel, int channel, auto count) {
        return window_gradient<decltype(count)::value, channels, Accumulate, Arch>{dx + sample * Shape.input_size() +
                                                                                   pixel * channels + channel};
      });
}

}  // namespace detail

/// dx (+)= the gradient of the input. Shapes and layouts are those of `depthwise_convolution`; up to a register after
/// dy's end may be read.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_input_gradient(float const* dy, float const* w, [[maybe_unused]] float* workspace, float* dx,
                                          share part = {}) {
  if constexpr (Shape.filters == Shape.channels) {
    detail::slide_input_gradient<Batch, Shape, Accumulate, Arch>(dy, w, dx, part);
  } else {
    using shapes = detail::backward_correlation<1, detail::repeated_channels<Shape>>;
    constexpr auto const& all = shapes::value;
    constexpr int filters = Shape.filters;
    constexpr int multiplier = filters / Shape.channels;
    constexpr int kept_row = filters + 16;
    constexpr std::int64_t tiles = detail::all_tiles(all.part, detail::channel_tile_rows);
    share::range const range = part.of(Batch * tiles);
    for (std::int64_t item = range.first; item < range.last;) {
      std::int64_t const sample = item / tiles;
      std::int64_t phase_begin = sample * tiles;
      float const* const source = dy + sample * Shape.output_size();
      float* const result = dx + sample * Shape.input_size();
      for (int i = 0; i < shapes::phases; ++i) {
        detail::phase_axis const& rows = all.rows[i];
        detail::phase_axis const& columns = all.columns[i];
        std::int64_t const phase_tiles = all.part[i].tiles(detail::channel_tile_rows);
        std::int64_t const first = range.first > phase_begin ? range.first - phase_begin : 0;
        std::int64_t const last = range.last - phase_begin < phase_tiles ? range.last - phase_begin : phase_tiles;
        phase_begin += phase_tiles;
        if (first >= last) continue;
        int const last_row = rows.first_tap + (rows.axis.taps - 1) * rows.tap_step;
        int const last_column = columns.first_tap + (columns.axis.taps - 1) * columns.tap_step;
        detail::channel_kernel const kernel = {
            w + (static_cast<std::ptrdiff_t>(last_row) * Shape.kernel_width + last_column) * filters,
            -static_cast<std::ptrdiff_t>(rows.tap_step) * Shape.kernel_width * filters,
            -static_cast<std::ptrdiff_t>(columns.tap_step) * filters};
        detail::correlate_channels<Arch>(
            all.part[i], filters, source, kernel, first, last,
            [&](int row, int channel, int count, std::int64_t element, batch<Arch> sum) {
              if constexpr (multiplier > 1) {
                sum.store_unaligned(workspace + row * kept_row + channel);
              } else if (count == lanes<Arch>) {
                if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(result + element);
                sum.store_unaligned(result + element);
              } else {
                if constexpr (Accumulate) sum = sum + load_first<Arch>(result + element, count);
                store_first(sum, result + element, count);
              }
            },
            [&]([[maybe_unused]] int pixels, [[maybe_unused]] std::int64_t const* element) {
              if constexpr (multiplier > 1)
                for (int pixel = 0; pixel < pixels; ++pixel)
                  for (int channel = 0; channel < Shape.channels; ++channel) {
                    float* const to = result + element[pixel] / multiplier + channel;
                    float const* const kept = workspace + pixel * kept_row + channel * multiplier;
                    float sum = Accumulate ? *to : 0.0F;
                    for (int m = 0; m < multiplier; ++m) sum += kept[m];
                    *to = sum;
                  }
            });
      }
      item = (sample + 1) * tiles;
    }
  }
}

namespace detail {

/// True if the kernels' gradient is summed by sliding over the input itself. Where channels are repeated or the sums of
/// a kernel's row would fill the registers, it slides over a copy.
template <convolution_shape Shape>
inline constexpr bool slides_over_input = Shape.filters == Shape.channels && Shape.kernel_width <= 8;

/// True if a sample is copied before the gradient of its kernels, with zeros around it and its channels repeated.
template <convolution_shape Shape>
inline constexpr bool copies_channels =
    !slides_over_input<Shape> && (Shape.has_padding() || Shape.filters != Shape.channels);

/// Rows of results that are computed before the next register of channels: few, where many channels of short rows would
/// evict each other from the first-level cache.
template <convolution_shape Shape>
inline constexpr int filter_gradient_rows = Shape.output_width() <= 8 && Shape.channels >= 256 ? 1 : 8;

/// Channels [first, last) of the kernels' gradient, where there is one kernel for each channel.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch>
void slide_filter_gradient(float const* x, float const* dy, float* dw, int first, int last) {
  constexpr int channels = Shape.channels;
  constexpr int width = lanes<Arch>;
  constexpr int kernel_width = Shape.kernel_width;
  constexpr int taps = Shape.kernel_height * kernel_width;
  constexpr int group = most_group_rows<Arch>(Shape.kernel_height, kernel_width);
  constexpr window_axis rows = forward_rows<Shape>;
  constexpr window_cut columns = cut_window(forward_columns<Shape>, most_group_results<Arch>(group * kernel_width));
  constexpr int rows_at_once = filter_gradient_rows<Shape>;
  constexpr int rest = channels % width;
  alignas(64) float tail[(rest > 0 ? taps : 1) * width] = {};
  if constexpr (!Accumulate)
    for (int t = 0; t < taps; ++t)
      for (int channel = first; channel < last; ++channel) dw[t * channels + channel] = 0.0F;
  int const whole = last / width * width;
  for (int sample = 0; sample < Batch; ++sample) {
    float const* const source = x + static_cast<std::int64_t>(sample) * Shape.input_size();
    float const* const right = dy + static_cast<std::int64_t>(sample) * Shape.output_size();
    for (int row = 0; row < rows.results; row += rows_at_once) {
      int const row_end = row + rows_at_once < rows.results ? row + rows_at_once : rows.results;
      for (int number = 0; number < columns.tiles(); ++number) {
        int const column = number * columns.width;
        float const* const left = source + static_cast<std::ptrdiff_t>(columns.axis.moved(column)) * channels;
        float const* const from = right + static_cast<std::ptrdiff_t>(column) * channels;
        with_window<columns>(number, [&]<class Window>(Window) __attribute__((always_inline)) {
          for (int channel = first; channel < last; channel += width)
            for (int tap_row = 0; tap_row < Shape.kernel_height; tap_row += group) {
              bool const is_whole = channel < whole;
              float* const sums = is_whole ? dw + channel : tail;
              slide_products<Window, rows, group, channels, Arch>(left + channel, from + channel, row, row_end, tap_row,
                                                                  sums, is_whole ? channels : width);
            }
        });
      }
    }
  }
  if constexpr (rest > 0)
    if (whole < last)
      for (int t = 0; t < taps; ++t) {
        float* const to = dw + t * channels + whole;
        store_lanes<rest>(load_lanes<rest, Arch>(to) + batch<Arch>::load_aligned(tail + t * width), to);
      }
}

/// Taps of a tile: each needs an address register.
[[nodiscard]] consteval int taps_of_tile(int taps) {
  int const tiles = (taps + 8) / 9;
  return (taps + tiles - 1) / tiles;
}

/// Copies a sample, with zeros around it, and each channel repeated.
template <convolution_shape Shape>
void pad_and_repeat(float const* from, float* to) {
  constexpr int multiplier = Shape.filters / Shape.channels;
  constexpr int row = Shape.padded_width() * Shape.filters;
  for (int h = 0; h < Shape.padded_height(); ++h, to += row) {
    bool const inside = h >= Shape.top && h < Shape.top + Shape.height;
    int const begin = inside ? Shape.left * Shape.filters : row;
    int const end = inside ? begin + Shape.width * Shape.filters : row;
    for (int i = 0; i < begin; ++i) to[i] = 0.0F;
    if (inside) {
      if constexpr (multiplier == 1)
        for (int i = 0; i < Shape.width * Shape.channels; ++i) to[begin + i] = from[i];
      else
        repeat_channels(from, Shape.width, Shape.channels, multiplier, to + begin);
      from += Shape.width * Shape.channels;
    }
    for (int i = end; i < row; ++i) to[i] = 0.0F;
  }
}

}  // namespace detail

/// Floats of workspace that `depthwise_convolution_filter_gradient` needs, for each thread: a padded sample.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long depthwise_convolution_filter_gradient_workspace =
    detail::copies_channels<Shape>
        ? static_cast<long long>(Shape.padded_height()) * Shape.padded_width() * Shape.filters + 64
        : 0;

/// dw (+)= the gradient of the kernels. Shapes and layouts are those of `depthwise_convolution`; up to a register after
/// x's and dy's ends may be read. A thread's share is a range of registers of filters.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void depthwise_convolution_filter_gradient(float const* x, float const* dy, [[maybe_unused]] float* workspace,
                                           float* dw, share part = {}) {
  constexpr int filters = Shape.filters;
  share::range const range = part.of(filters, 16);
  if (range.first >= range.last) return;
  if constexpr (detail::slides_over_input<Shape>) {
    detail::slide_filter_gradient<Batch, Shape, Accumulate, Arch>(x, dy, dw, static_cast<int>(range.first),
                                                                  static_cast<int>(range.last));
  } else {
    constexpr int taps = Shape.kernel_height * Shape.kernel_width;
    constexpr int height = detail::taps_of_tile(taps);
    constexpr bool copies = detail::copies_channels<Shape>;
    constexpr int width = copies ? Shape.padded_width() : Shape.width;
    detail::step_runs runs;
    runs.rows = 1;
    runs.columns = Shape.output_height();
    runs.steps = Shape.output_width();
    runs.left_column = static_cast<std::ptrdiff_t>(Shape.stride_height) * width * filters;
    runs.right_column = static_cast<std::ptrdiff_t>(Shape.output_width()) * filters;
    runs.left_step = static_cast<std::ptrdiff_t>(Shape.stride_width) * filters;
    runs.right_step = filters;
    for (int sample = 0; sample < Batch; ++sample) {
      bool const add = Accumulate || sample > 0;
      float const* source = x + static_cast<std::int64_t>(sample) * Shape.input_size();
      if constexpr (copies) {
        detail::pad_and_repeat<Shape>(source, workspace);
        source = workspace;
      }
      float const* const right = dy + static_cast<std::int64_t>(sample) * Shape.output_size();
      for (int first = 0; first < taps; first += height) {
        float const* left[height];
        for (int i = 0; i < height; ++i) {
          int const tap = first + i < taps ? first + i : taps - 1;
          left[i] = source + (tap / Shape.kernel_width * Shape.dilation_height * width +
                              tap % Shape.kernel_width * Shape.dilation_width) *
                                 filters;
        }
        for (std::int64_t channel = range.first; channel < range.last; channel += lanes<Arch>) {
          int const left_over = static_cast<int>(range.last - channel);
          int const count = left_over < lanes<Arch> ? left_over : lanes<Arch>;
          detail::channel_tile<height, true, Arch>(left, channel, right, count, runs, [&](int i, batch<Arch> sum) {
            if (first + i >= taps) return;
            float* const to = dw + static_cast<std::int64_t>(first + i) * filters + channel;
            if (add) sum = sum + load_first<Arch>(to, count);
            store_first(sum, to, count);
          });
        }
      }
    }
  }
}

}  // namespace stagecraft::kernels
