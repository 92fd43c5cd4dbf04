// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and poolings over one to three axes, of any shape, as plain loops over windows with channels in
// registers: they serve layers of a user's own where products (products_of_windows.hpp) are no faster. Layers of the
// library with kernels have faster ones.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/operations/kinds/windows.hpp>
#include <limits>

namespace stagecraft::kernels {

/// Images (batch, places..., channels) and their windows (batch, windows..., channels).
template <class Arch = default_architecture>
struct window_walk {
  operations::windows windows;
  operations::extents image, output;

  /// Calls `f(image offset, output offset, place of the window)` in pixels, for each place of each window that is not
  /// padding. The offsets count pixels.
  template <class F>
  void for_each(F const& f) const {
    // There are always three axes; the first ones may be 1 long.
    int length[3]{1, 1, 1}, count[3]{1, 1, 1};
    operations::window along[3]{};
    for (int i = 0; i < windows.count; ++i) {
      int const axis = 3 - windows.count + i;
      along[axis] = windows[i];
      length[axis] = image[i + 1];
      count[axis] = output[i + 1];
    }
    std::int64_t out = 0;
    for (int b = 0; b < image[0]; ++b)
      for (int p = 0; p < count[0]; ++p)
        for (int q = 0; q < count[1]; ++q)
          for (int r = 0; r < count[2]; ++r, ++out) {
            std::int64_t tap = 0;
            for (int i = 0; i < along[0].size; ++i)
              for (int j = 0; j < along[1].size; ++j)
                for (int k = 0; k < along[2].size; ++k, ++tap) {
                  int const at[3]{p * along[0].stride + i * along[0].dilation - along[0].before,
                                  q * along[1].stride + j * along[1].dilation - along[1].before,
                                  r * along[2].stride + k * along[2].dilation - along[2].before};
                  if (at[0] < 0 || at[0] >= length[0] || at[1] < 0 || at[1] >= length[1] || at[2] < 0 ||
                      at[2] >= length[2])
                    continue;
                  f(((static_cast<std::int64_t>(b) * length[0] + at[0]) * length[1] + at[1]) * length[2] + at[2], out,
                    tap);
                }
          }
  }
};

/// The tensor of a convolution that is computed from the two others.
enum class convolution_part : unsigned char { output, input, filter };

namespace detail {

/// The products of one place of a window: `channels` numbers of a pixel, as many rows of weights, `apart` floats from
/// one to the next, and a row of results.
struct window_products {
  float* pixel;
  float* weights;
  float* row;
  int channels;
  std::int64_t apart;

  /// row += pixel * weights, or weights += pixel^T * row, in the columns from `first` on: those of `Registers`
  /// registers, or `count` of the last one. Values that all channels share stay in registers.
  template <convolution_part Part, class Arch, int Registers>
  void add_columns(int first, int count) const {
    using value = batch<Arch>;
    bool const whole = count == lanes<Arch>;
    auto const load = [&](float const* from, int i) {
      float const* const at = from + first + i * lanes<Arch>;
      return whole ? value::load_unaligned(at) : load_first<Arch>(at, count);
    };
    auto const store = [&](value const& x, float* to, int i) {
      float* const at = to + first + i * lanes<Arch>;
      whole ? x.store_unaligned(at) : store_first(x, at, count);
    };
    value rows[Registers];
    for (int i = 0; i < Registers; ++i) rows[i] = load(row, i);
    for (int c = 0; c < channels; ++c) {
      value const factor(pixel[c]);
      float* const of_channel = weights + c * apart;
      for (int i = 0; i < Registers; ++i)
        if constexpr (Part == convolution_part::output)
          rows[i] = fused_multiply_add(factor, load(of_channel, i), rows[i]);
        else
          store(fused_multiply_add(factor, rows[i], load(of_channel, i)), of_channel, i);
    }
    if constexpr (Part == convolution_part::output)
      for (int i = 0; i < Registers; ++i) store(rows[i], row, i);
  }
  template <convolution_part Part, class Arch>
  void add(int filters) const {
    constexpr int width = lanes<Arch>;
    int first = 0;
    for (; first + 4 * width <= filters; first += 4 * width) add_columns<Part, Arch, 4>(first, width);
    for (; first + width <= filters; first += width) add_columns<Part, Arch, 1>(first, width);
    if (first < filters) add_columns<Part, Arch, 1>(first, filters - first);
  }
  /// pixel += weights * row^T.
  template <class Arch>
  void add_to_pixel(int filters) const {
    using value = batch<Arch>;
    for (int c = 0; c < channels; ++c)
      pixel[c] += transform_sum<Arch>(
          filters, [](value const& a, value const& b) { return a * b; }, static_cast<float const*>(weights + c * apart),
          static_cast<float const*>(row));
  }
};

}  // namespace detail

/// Adds to the tensor that is computed: x (batch, places..., channels), w (window..., channels / groups, filters),
/// y (batch, windows..., filters).
template <class Arch = default_architecture>
inline void convolve_windows(convolution_part part, window_walk<Arch> const& walk, int groups, float* x, float* w,
                             float* y) {
  int const all_channels = walk.image[-1], channels = all_channels / groups, all_filters = walk.output[-1],
            filters = all_filters / groups;
  walk.for_each([&](std::int64_t image, std::int64_t output, std::int64_t tap) {
    for (int g = 0; g < groups; ++g) {
      detail::window_products const at{.pixel = x + image * all_channels + g * channels,
                                       .weights = w + tap * channels * all_filters + g * filters,
                                       .row = y + output * all_filters + g * filters,
                                       .channels = channels,
                                       .apart = all_filters};
      switch (part) {
        case convolution_part::output: at.template add<convolution_part::output, Arch>(filters); break;
        case convolution_part::filter: at.template add<convolution_part::filter, Arch>(filters); break;
        default: at.template add_to_pixel<Arch>(filters);
      }
    }
  });
}

/// Functions that replace `convolve_windows` for one group: whether a convolution gains by them, for (part, windows,
/// image, output, groups); floats of workspace, for (part, windows' count, terms of a window, filters); and the
/// computation of the tensor, from x, w, y and a workspace.
template <class Arch>
struct window_functions {
  bool (*gains)(convolution_part, operations::windows const&, operations::extents const&, operations::extents const&,
                int);
  std::int64_t (*workspace)(convolution_part, int, int, int);
  void (*convolve)(convolution_part, window_walk<Arch> const&, float*, float*, float*, float*);
};

/// y = the largest or the mean of each window, for each channel. Padding counts in neither.
template <class Arch = default_architecture>
inline void pool_windows(bool is_max, window_walk<Arch> const& walk, float const* x, float* y) {
  int const channels = walk.output[-1];
  std::int64_t const size = walk.output.size();
  for (std::int64_t i = 0; i < size; ++i) y[i] = is_max ? -std::numeric_limits<float>::infinity() : 0.0F;
  std::int64_t filled = -1;
  int count = 0;
  auto const finish = [&] {
    if (filled >= 0 && !is_max)
      for (int c = 0; c < channels; ++c) y[filled * channels + c] /= static_cast<float>(count);
    count = 0;
  };
  walk.for_each([&](std::int64_t image, std::int64_t output, std::int64_t) {
    if (output != filled) finish();
    filled = output;
    ++count;
    for (int c = 0; c < channels; ++c) {
      float const value = x[image * channels + c];
      float& result = y[output * channels + c];
      result = is_max ? (value > result || value != value ? value : result) : result + value;
    }
  });
  finish();
}

/// x = 0. Not inline: GCC 12 warns of the length of zeros where it thinks that a shape could be negative.
template <class Arch>
[[gnu::noinline]] void set_to_zero(float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = 0;
}

/// dx = the gradient of `pool_windows`. The first of a window's largest elements gets the whole gradient, or its first
/// NaN if there is one; `given` is workspace for as many floats as y has.
template <class Arch = default_architecture>
inline void pool_windows_gradient(bool is_max, window_walk<Arch> const& walk, float const* x, float const* y,
                                  float const* dy, float* dx, float* given) {
  int const channels = walk.output[-1];
  std::int64_t const size = walk.image.size(), outputs = walk.output.size();
  set_to_zero<Arch>(dx, size);
  set_to_zero<Arch>(given, outputs);
  if (!is_max) walk.for_each([&](std::int64_t, std::int64_t output, std::int64_t) { given[output * channels] += 1; });
  walk.for_each([&](std::int64_t image, std::int64_t output, std::int64_t) {
    for (int c = 0; c < channels; ++c) {
      auto const from = output * channels + c, to = image * channels + c;
      if (!is_max) {
        dx[to] += dy[from] / given[output * channels];
      } else if (given[from] == 0 && (x[to] == y[from] || (x[to] != x[to] && y[from] != y[from]))) {
        dx[to] += dy[from];
        given[from] = 1;
      }
    }
  });
}

}  // namespace stagecraft::kernels
