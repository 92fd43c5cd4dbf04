// SPDX-License-Identifier: BSD-3-Clause
// The convolution of a batch with a packed filter, bias and activation included. Keras counterpart: Conv1D, Conv2D. All
// shapes are known at compile time; nothing is allocated, nor copied.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/correlation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

namespace stagecraft::kernels {

namespace detail {

/// The convolution itself, as a correlation.
template <int Batch, convolution_shape Shape>
struct forward_correlation {
  static constexpr convolution_axis rows = {.outputs = Shape.output_height(),
                                            .extent = Shape.height,
                                            .taps = Shape.kernel_height,
                                            .stride = Shape.stride_height,
                                            .origin = -Shape.top,
                                            .dilation = Shape.dilation_height};
  static constexpr convolution_axis columns = {.outputs = Shape.output_width(),
                                               .extent = Shape.width,
                                               .taps = Shape.kernel_width,
                                               .stride = Shape.stride_width,
                                               .origin = -Shape.left,
                                               .dilation = Shape.dilation_width};
  static constexpr auto row_classes = classify<most_classes(Shape.kernel_height)>(rows);
  static constexpr auto column_classes = classify<most_classes(Shape.kernel_width)>(columns);
  static constexpr correlation parts[1] = {{
      .samples = Batch,
      .rows = rows,
      .columns = columns,
      .row_classes = row_classes.item,
      .row_class_count = row_classes.count,
      .column_classes = column_classes.item,
      .column_class_count = column_classes.count,
      .channels = Shape.group_channels(),
      .source = {Shape.input_size(), static_cast<std::int64_t>(Shape.width) * Shape.channels, Shape.channels},
      .result = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters},
  }};
};

/// The most weights of panels that are computed together; the least tiles; and about the number of floats of the source
/// that tiles read from panel to panel, which stay in the first-level cache beside one.
inline constexpr int most_together_weights = 16384;
inline constexpr int least_together_tiles = 32;
inline constexpr int together_source = 3072;
/// The most tiles of a panel during which the next part of the filter is fetched: with more, waiting counts little.
inline constexpr int most_fetching_tiles = 256;

/// Floats of a panel that each step of its tiles fetches of the next one, so that all are there in time: else the first
/// tile would wait for a slow cache, or for memory. 0: none.
[[nodiscard]] constexpr int fetched_floats(correlation const& shape, tile_plan const& plan) {
  if (plan.panels > 1 || shape.tiles(plan.height) > most_fetching_tiles) return 0;
  std::int64_t steps = 0;
  shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t pixels) {
    steps += (pixels + plan.height - 1) / plan.height * row.taps * column.taps;
  });
  std::int64_t const floats = std::int64_t{shape.rows.taps} * shape.columns.taps * plan.panel;
  return static_cast<int>((floats + steps - 1) / steps);
}

/// The plan for the tiles of a panel with `columns` valid filters.
template <int Batch, convolution_shape Shape, class Arch>
[[nodiscard]] consteval tile_plan forward_plan(int columns) {
  using layout = packed_filter<Shape, Arch>;
  constexpr int panels = Shape.group_filters() / layout::panel_columns;
  tile_plan plan;
  if (columns == 0) return plan;
  plan.vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  plan.height = tile_height<Arch>(forward_correlation<Batch, Shape>::parts, plan.vectors);
  plan.panel = layout::panel_columns;
  plan.columns = columns;
  plan.direct = Shape.steps() <= most_direct_steps;
  // Panels are joined if they stay in the caches together and there are enough tiles to share.
  if (panels > 1 && Shape.group_filters() % layout::panel_columns == 0 &&
      Shape.steps() * Shape.group_filters() <= most_together_weights &&
      forward_correlation<Batch, Shape>::parts[0].tiles(plan.height) >= least_together_tiles) {
    plan.panels = panels;
    int const most = together_source / (plan.height * Shape.steps());
    plan.tiles_at_once = most < 1 ? 1 : most < 8 ? most : 8;
    plan.panel_stride = layout::panel_stride;
  }
  if (Shape.steps() > most_short_steps) {
    plan.fetched = fetched_floats(forward_correlation<Batch, Shape>::parts[0], plan);
    return plan;
  }
  std::ptrdiff_t const right_column = static_cast<std::ptrdiff_t>(Shape.group_channels()) * plan.panel;
  plan.short_runs = {.rows = Shape.kernel_height,
                     .columns = Shape.kernel_width,
                     .steps = Shape.group_channels(),
                     .left_row = static_cast<std::ptrdiff_t>(Shape.dilation_height) * Shape.width * Shape.channels,
                     .right_row = Shape.kernel_width * right_column,
                     .left_column = static_cast<std::ptrdiff_t>(Shape.dilation_width) * Shape.channels,
                     .right_column = right_column,
                     .left_step = 1,
                     .right_step = plan.panel};
  return plan;
}

}  // namespace detail

/// Floats of workspace that `convolution` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_workspace = 0;

/// y = epilogue(the convolution of x with w), or epilogue(y + the convolution) if Accumulate. x: Batch x input and y:
/// Batch x output of the shape, channels last; w: packed_filter<Shape, Arch>. Where a filter has more than 2048 steps,
/// y holds partial sums before the epilogue is called.
template <int Batch, convolution_shape Shape, bool Accumulate, class Arch = default_architecture,
          class Terms = detail::float_terms, class Epilogue = no_epilogue>
void convolution(float const* x, float const* w, float* /*workspace*/, float* y, Epilogue const& epilogue = {},
                 share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  constexpr detail::correlation const(&shape)[1] = detail::forward_correlation<Batch, Shape>::parts;
  constexpr int filters = Shape.group_filters();
  constexpr int panel = layout::panel_columns;
  constexpr int whole = filters / panel;
  constexpr detail::tile_plan whole_plan = detail::forward_plan<Batch, Shape, Arch>(panel);
  constexpr detail::tile_plan rest_plan = detail::forward_plan<Batch, Shape, Arch>(filters % panel);
  constexpr int passes = whole / whole_plan.panels;
  constexpr std::int64_t whole_tiles = whole == 0 ? 0 : shape[0].tiles(whole_plan.height);
  constexpr std::int64_t rest_tiles = filters % panel == 0 ? 0 : shape[0].tiles(rest_plan.height);

  share::range const range = part.of(Shape.groups * (passes * whole_tiles + rest_tiles));
  std::int64_t begin = 0;
  auto const correlate = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t tiles) {
    std::int64_t const first = range.first > begin ? range.first - begin : 0;
    std::int64_t const last = range.last - begin < tiles ? range.last - begin : tiles;
    begin += tiles;
    if (first >= last) return;
    detail::correlate<Plan, Arch, Terms>(
        shape[0], x + group * Shape.group_channels(),
        w + static_cast<std::int64_t>(group) * layout::size + static_cast<std::int64_t>(p) * layout::panel_stride,
        first, last, detail::correlation_output<Epilogue>{y, group * filters + p * panel, Accumulate, false, epilogue});
  };
  for (int group = 0; group < Shape.groups; ++group) {
    if constexpr (whole > 0)
      for (int p = 0; p < passes; ++p) correlate.template operator()<whole_plan>(group, p, whole_tiles);
    if constexpr (rest_tiles > 0) correlate.template operator()<rest_plan>(group, whole, rest_tiles);
  }
}

/// A convolution whose result is written, not added.
template <int Batch, convolution_shape Shape, class Arch = default_architecture, class Epilogue = no_epilogue>
void convolution(float const* x, float const* w, float* workspace, float* y, Epilogue const& epilogue = {},
                 share part = {}) {
  convolution<Batch, Shape, false, Arch>(x, w, workspace, y, epilogue, part);
}

}  // namespace stagecraft::kernels
