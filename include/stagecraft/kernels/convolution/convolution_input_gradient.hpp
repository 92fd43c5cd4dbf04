// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a convolution by its input; also the forward pass of Keras's Conv2DTranspose. All shapes are known at
// compile time; nothing is allocated.
//
// Inputs whose distance is a multiple of the strides form a phase. Within a phase, the gradient is a correlation of dy
// with the transposed filter's taps that hit the phase, in reverse order. Every tap hits one phase.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/correlation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::kernels {

namespace detail {

[[nodiscard]] constexpr int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    int const rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// A phase along one axis.
struct phase_axis {
  convolution_axis axis;
  /// The first input of the phase, and the kernel's taps that hit it: `first_tap + j * tap_step`, axis.taps of them.
  int first = 0;
  int first_tap = 0;
  int tap_step = 1;
};

/// Phase `phase` of an axis.
[[nodiscard]] constexpr phase_axis find_phase(int phase, int inputs, int outputs, int taps, int stride, int dilation,
                                              int before) {
  phase_axis found;
  found.first = ((phase - before) % stride + stride) % stride;
  found.tap_step = stride / greatest_common_divisor(stride, dilation);
  while (found.first_tap < taps && found.first_tap * dilation % stride != phase) ++found.first_tap;
  int const hits = found.first_tap < taps ? (taps - 1 - found.first_tap) / found.tap_step + 1 : 0;
  int const distance = found.tap_step * dilation / stride;
  found.axis.outputs = found.first < inputs ? (inputs - 1 - found.first) / stride + 1 : 0;
  found.axis.extent = outputs;
  found.axis.taps = hits;
  found.axis.dilation = distance;
  if (hits > 0)
    found.axis.origin = (found.first + before - found.first_tap * dilation) / stride - (hits - 1) * distance;
  return found;
}

template <convolution_shape Shape, int Phase>
struct row_phase {
  static constexpr phase_axis value = find_phase(Phase, Shape.height, Shape.output_height(), Shape.kernel_height,
                                                 Shape.stride_height, Shape.dilation_height, Shape.top);
  static constexpr auto classes = classify<most_classes(Shape.kernel_height)>(value.axis);
};

template <convolution_shape Shape, int Phase>
struct column_phase {
  static constexpr phase_axis value = find_phase(Phase, Shape.width, Shape.output_width(), Shape.kernel_width,
                                                 Shape.stride_width, Shape.dilation_width, Shape.left);
  static constexpr auto classes = classify<most_classes(Shape.kernel_width)>(value.axis);
};

/// All phases of the gradient; number i is row phase i / stride_width, column phase i % stride_width.
template <int Batch, convolution_shape Shape>
struct backward_correlation {
  static constexpr int phases = Shape.stride_height * Shape.stride_width;

  template <int Phase>
  [[nodiscard]] static constexpr correlation phase() {
    using rows = row_phase<Shape, Phase / Shape.stride_width>;
    using columns = column_phase<Shape, Phase % Shape.stride_width>;
    constexpr std::int64_t row_floats = static_cast<std::int64_t>(Shape.width) * Shape.channels;
    return {
        .samples = Batch,
        .rows = rows::value.axis,
        .columns = columns::value.axis,
        .row_classes = rows::classes.item,
        .row_class_count = rows::classes.count,
        .column_classes = columns::classes.item,
        .column_class_count = columns::classes.count,
        .channels = Shape.group_filters(),
        .source = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters},
        .result = {Shape.input_size(), Shape.stride_height * row_floats, Shape.stride_width * Shape.channels},
        .result_first = rows::value.first * row_floats + columns::value.first * Shape.channels,
    };
  }

  struct all {
    correlation part[phases];
    phase_axis rows[phases];
    phase_axis columns[phases];
  };
  static constexpr all value = []<int... Phase>(std::integer_sequence<int, Phase...>) {
    return all{{phase<Phase>()...},
               {row_phase<Shape, Phase / Shape.stride_width>::value...},
               {column_phase<Shape, Phase % Shape.stride_width>::value...}};
  }(std::make_integer_sequence<int, phases>());
};

/// Columns of a panel of the transposed filter.
template <convolution_shape Shape, class Arch>
inline constexpr int transposed_panel = packed_matrix<1, Shape.group_channels(), Arch>::panel_columns;

/// Transposes the filter's taps of a phase into a panel, whose rows count (tap row, tap column, filter), taps in
/// reverse order. `w` is the group's filter; the panel begins at `channel`, with `channels` channels left. Returns the
/// begin of the next phase's panel; a block of rows after it may be overwritten.
template <class Layout, class Arch>
float* transpose_phase(float const* w, phase_axis const& rows, phase_axis const& columns, int kernel_width,
                       int all_channels, int filters, int channel, int vectors, int panel, float* to) {
  constexpr int width = lanes<Arch>;
  for (int r = rows.axis.taps - 1; r >= 0; --r)
    for (int c = columns.axis.taps - 1; c >= 0; --c, to += static_cast<std::ptrdiff_t>(filters) * panel) {
      int const tap = (rows.first_tap + r * rows.tap_step) * kernel_width + columns.first_tap + c * columns.tap_step;
      for (int f = 0; f < filters; f += width)
        for (int v = 0; v < vectors; ++v) {
          int const k = channel + v * width;
          transpose_block<Arch>(w + Layout::index(tap * all_channels + k, f), Layout::panel_columns, all_channels - k,
                                to + f * panel + v * width, panel);
        }
    }
  return to;
}

/// The plan for the tiles of a panel with `columns` valid channels.
template <int Batch, convolution_shape Shape, class Arch>
[[nodiscard]] consteval tile_plan backward_plan(int columns) {
  tile_plan plan;
  if (columns == 0) return plan;
  plan.vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  plan.height = tile_height<Arch>(backward_correlation<Batch, Shape>::value.part, plan.vectors);
  plan.panel = transposed_panel<Shape, Arch>;
  plan.columns = columns;
  plan.direct = Shape.kernel_height * Shape.kernel_width * Shape.group_filters() <= most_direct_steps;
  return plan;
}

}  // namespace detail

/// Floats of workspace that `convolution_input_gradient` needs, for each thread: a panel of the transposed filter.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_input_gradient_workspace =
    (static_cast<long long>(Shape.kernel_height) * Shape.kernel_width * Shape.group_filters() +
     lanes<Arch>)*detail::transposed_panel<Shape, Arch>;

/// dx (+)= the gradient of the input, through the epilogue once its sums are complete. dy: Batch x output and dx: Batch
/// x input of the shape, channels last; w: packed_filter<Shape, Arch>. dx may hold partial sums before the epilogue is
/// called.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Terms = detail::float_terms, class Epilogue = no_epilogue>
void convolution_input_gradient(float const* dy, float const* w, float* workspace, float* dx, Epilogue const& epilogue,
                                share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  using shapes = detail::backward_correlation<Batch, Shape>;
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  constexpr int panel = detail::transposed_panel<Shape, Arch>;
  constexpr int whole = channels / panel;
  constexpr auto const& all = shapes::value;
  constexpr detail::tile_plan whole_plan = detail::backward_plan<Batch, Shape, Arch>(panel);
  constexpr detail::tile_plan rest_plan = detail::backward_plan<Batch, Shape, Arch>(channels % panel);
  constexpr std::int64_t whole_tiles = detail::all_tiles(all.part, whole_plan.height);
  constexpr std::int64_t rest_tiles = channels % panel == 0 ? 0 : detail::all_tiles(all.part, rest_plan.height);

  share::range const range = part.of(Shape.groups * (whole * whole_tiles + rest_tiles));
  std::int64_t begin = 0;
  auto const correlate = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t panel_tiles) {
    std::int64_t phase_begin = begin;
    begin += panel_tiles;
    if (range.first >= begin || range.last <= phase_begin) return;
    float* filter = workspace;
    for (int i = 0; i < shapes::phases; ++i) {
      float const* const taps = filter;
      filter = detail::transpose_phase<layout, Arch>(w + static_cast<std::int64_t>(group) * layout::size, all.rows[i],
                                                     all.columns[i], Shape.kernel_width, channels, filters, p * panel,
                                                     Plan.vectors, panel, filter);
      std::int64_t const tiles = all.part[i].tiles(Plan.height);
      std::int64_t const first = range.first > phase_begin ? range.first - phase_begin : 0;
      std::int64_t const last = range.last - phase_begin < tiles ? range.last - phase_begin : tiles;
      phase_begin += tiles;
      if (first < last)
        detail::correlate<Plan, Arch, Terms>(
            all.part[i], dy + group * filters, taps, first, last,
            detail::correlation_output<Epilogue>{dx, group * channels + p * panel, Accumulate, false, epilogue});
    }
  };
  for (int group = 0; group < Shape.groups; ++group) {
    if constexpr (whole > 0)
      for (int p = 0; p < whole; ++p) correlate.template operator()<whole_plan>(group, p, whole_tiles);
    if constexpr (rest_tiles > 0) correlate.template operator()<rest_plan>(group, whole, rest_tiles);
  }
}

/// The gradient by the input; no epilogue is applied.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture>
void convolution_input_gradient(float const* dy, float const* w, float* workspace, float* dx, share part = {}) {
  convolution_input_gradient<Batch, Shape, Accumulate, Arch>(dy, w, workspace, dx, no_epilogue{}, part);
}

}  // namespace stagecraft::kernels
