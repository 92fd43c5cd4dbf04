// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a convolution by its filters. All shapes are known at compile time; nothing is allocated.
//
// It is a correlation, too, whose result's pixels are the kernel's taps and whose taps are the outputs. A tile is a few
// (tap, channel) rows of a panel of filters, summed over a block of outputs that stays in the second-level cache.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/convolution/correlation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

namespace stagecraft::kernels {

namespace detail {

/// About the most outputs that are summed before the sums are stored: enough for long sums in each tile, and few enough
/// for a panel's part of dy to stay in the first-level cache, beside the part of x that a tile reads. (The widest
/// panels of AVX-512 have four times as many, for the second-level cache.)
inline constexpr int most_block_outputs = 392;

/// Taps by the outputs that they meet, and the division of the outputs into blocks of some rows of a sample, or of some
/// samples.
template <int Batch, convolution_shape Shape>
struct filter_correlation {
  static constexpr convolution_axis rows = {.outputs = Shape.kernel_height,
                                            .extent = Shape.height,
                                            .taps = Shape.output_height(),
                                            .stride = Shape.dilation_height,
                                            .origin = -Shape.top,
                                            .dilation = Shape.stride_height};
  static constexpr convolution_axis columns = {.outputs = Shape.kernel_width,
                                               .extent = Shape.width,
                                               .taps = Shape.output_width(),
                                               .stride = Shape.dilation_width,
                                               .origin = -Shape.left,
                                               .dilation = Shape.stride_width};
  static constexpr auto row_classes = classify<Shape.kernel_height>(rows);
  static constexpr auto column_classes = classify<Shape.kernel_width>(columns);
  /// The correlation for counting tiles, with channels in place of samples.
  static constexpr correlation parts[1] = {{
      .samples = Shape.group_channels(),
      .rows = rows,
      .columns = columns,
      .row_classes = row_classes.item,
      .row_class_count = row_classes.count,
      .column_classes = column_classes.item,
      .column_class_count = column_classes.count,
  }};
  static constexpr int outputs = Shape.output_height() * Shape.output_width();
  static constexpr int row_blocks = outputs > most_block_outputs
                                        ? (outputs + most_block_outputs / 2) / most_block_outputs
                                        : 1;
  static constexpr int block_rows = (Shape.output_height() + row_blocks - 1) / row_blocks;
  static constexpr int most_samples = outputs > most_block_outputs ? 1 : most_block_outputs / outputs;
  static constexpr int block_samples = most_samples < Batch ? most_samples : Batch;
  /// True if a panel's part of dy is copied first, since it lies in pieces and is read often.
  template <class Arch>
  static constexpr bool copies = (Shape.filters > packed_filter<Shape, Arch>::panel_columns) && Shape.steps() >= 48;

  /// The plan for the tiles of a panel with `filters` valid filters: at least two tiles, for two threads.
  template <class Arch>
  [[nodiscard]] static consteval tile_plan plan(int filters) {
    tile_plan found;
    if (filters == 0) return found;
    found.vectors = (filters + lanes<Arch> - 1) / lanes<Arch>;
    found.height = tile_height<Arch>(parts, found.vectors);
    if (parts[0].tiles(found.height) == 1) found.height = (Shape.steps() + 1) / 2;
    found.panel = packed_filter<Shape, Arch>::panel_columns;
    found.columns = filters;
    return found;
  }
};

/// Outputs [row, row_end) of `samples` samples.
struct output_block {
  int samples;
  int row;
  int row_end;
};

/// The distances that the gradient of a filter's tiles follow: within x, dy and the gradient.
struct filter_distances {
  int channels;
  int kernel_width;
  pixel_grid x;
  pixel_grid dy;
};

/// Copies Vectors registers of each of the block's outputs, with LastLanes lanes of the last register.
template <int Vectors, int LastLanes, class Arch>
void copy_outputs(output_block const& block, pixel_grid const& distances, int width, float const* from, float* to) {
  for (int sample = 0; sample < block.samples; ++sample)
    for (int row = block.row; row < block.row_end; ++row)
      for (int column = 0; column < width; ++column, to += Vectors * lanes<Arch>) {
        float const* const pixel = from + sample * distances.sample + row * distances.row + column * distances.pixel;
        __builtin_prefetch(pixel + 8 * distances.pixel);
        for (int j = 0; j + 1 < Vectors; ++j)
          batch<Arch>::load_unaligned(pixel + j * lanes<Arch>).store_unaligned(to + j * lanes<Arch>);
        load_lanes<LastLanes, Arch>(pixel + (Vectors - 1) * lanes<Arch>)
            .store_unaligned(to + (Vectors - 1) * lanes<Arch>);
      }
}

/// Tiles [first, last) of a class of taps, summed over a block of outputs. x and dy begin with the block's first
/// sample. DyStep: the floats between pixels of dy if dy has only the panel's registers, else 0.
template <tile_plan Plan, int DyStep, class Arch, class Terms>
void filter_gradient_class(correlation const& shape, filter_distances const& distances, tap_class const& row,
                           tap_class const& column, output_block const& block, float const* x, float const* dy,
                           std::int64_t first, std::int64_t last, correlation_output<no_epilogue> const& output) {
  int const from = row.tap > block.row ? row.tap : block.row;
  int const to = row.tap + row.taps < block.row_end ? row.tap + row.taps : block.row_end;
  bool const empty = from >= to || column.taps == 0;
  if (empty && output.add) return;
  step_runs runs;
  runs.rows = empty ? 0 : block.samples;
  runs.columns = to - from;
  runs.steps = column.taps;
  runs.left_row = distances.x.sample;
  runs.right_row = distances.dy.sample;
  runs.left_column = shape.rows.dilation * distances.x.row;
  runs.right_column = distances.dy.row;
  runs.left_step = shape.columns.dilation * distances.x.pixel;
  runs.right_step = distances.dy.pixel;
  dy += from * distances.dy.row + column.tap * distances.dy.pixel;

  std::int64_t const rows = static_cast<std::int64_t>(row.count) * column.count * distances.channels;
  for (std::int64_t tile = first; tile < last; ++tile) {
    int const height =
        rows - tile * Plan.height < Plan.height ? static_cast<int>(rows - tile * Plan.height) : Plan.height;
    float const* left[Plan.height];
    std::int64_t element[Plan.height];
    int channel = static_cast<int>(tile * Plan.height % distances.channels);
    int const tap = static_cast<int>(tile * Plan.height / distances.channels);
    int r = row.first + tap / column.count;
    int c = column.first + tap % column.count;
    for (int i = 0; i < Plan.height; ++i) {
      left[i] =
          x + (r * shape.rows.stride + shape.rows.origin + from * shape.rows.dilation) * distances.x.row +
          (c * shape.columns.stride + shape.columns.origin + column.tap * shape.columns.dilation) * distances.x.pixel +
          channel;
      element[i] =
          static_cast<std::int64_t>((r * distances.kernel_width + c) * distances.channels + channel) * Plan.panel;
      if (i + 1 >= height || ++channel < distances.channels) continue;
      channel = 0;
      if (++c < column.first + column.count) continue;
      c = column.first;
      ++r;
    }
    alignas(64) float sums[Plan.height * Plan.vectors * lanes<Arch>];
    gathered_tile<Plan.height, Plan.vectors, 0, DyStep, Arch, Terms>(left, dy, runs,
                                                                     keep_sums<Plan.vectors, Arch>{sums});
    output.template store<Plan, Arch, Terms>(sums, element, height);
  }
}

/// Tiles [first, last) of a panel, summed over a block.
template <tile_plan Plan, int DyStep, class Arch, class Terms>
void filter_gradient_panel(correlation const& shape, filter_distances const& distances, output_block const& block,
                           float const* x, float const* dy, std::int64_t first, std::int64_t last,
                           correlation_output<no_epilogue> const& output) {
  std::int64_t begin = 0;
  shape.for_each_class([&](tap_class const& row, tap_class const& column, std::int64_t rows) {
    std::int64_t const tiles = (rows + Plan.height - 1) / Plan.height;
    std::int64_t const from = first > begin ? first - begin : 0;
    std::int64_t const to = last - begin < tiles ? last - begin : tiles;
    if (from < to)
      filter_gradient_class<Plan, DyStep, Arch, Terms>(shape, distances, row, column, block, x, dy, from, to, output);
    begin += tiles;
  });
}

}  // namespace detail

/// Floats of workspace that `convolution_filter_gradient` needs, for each thread.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long convolution_filter_gradient_workspace =
    detail::filter_correlation<detail::most_block_outputs, Shape>::template copies<Arch>
        ? static_cast<long long>(detail::filter_correlation<detail::most_block_outputs, Shape>::block_samples) *
              detail::filter_correlation<detail::most_block_outputs, Shape>::block_rows * Shape.output_width() *
              packed_filter<Shape, Arch>::panel_columns
        : 0;

/// dw (+)= the gradient of the filters. x: Batch x input and dy: Batch x output of the shape, channels last; up to a
/// register after dy's end may be read. dw: packed_filter<Shape, Arch>, whose padding must be 0 and stays 0.
template <int Batch, convolution_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Terms = detail::float_terms>
void convolution_filter_gradient(float const* x, float const* dy, [[maybe_unused]] float* workspace, float* dw,
                                 share part = {}) {
  using layout = packed_filter<Shape, Arch>;
  using shape = detail::filter_correlation<Batch, Shape>;
  constexpr int channels = Shape.group_channels();
  constexpr int filters = Shape.group_filters();
  constexpr int panel = layout::panel_columns;
  constexpr int whole = filters / panel;
  constexpr detail::tile_plan whole_plan = shape::template plan<Arch>(panel);
  constexpr detail::tile_plan rest_plan = shape::template plan<Arch>(filters % panel);
  constexpr std::int64_t whole_tiles = shape::parts[0].tiles(whole_plan.height);
  constexpr std::int64_t rest_tiles = filters % panel == 0 ? 0 : shape::parts[0].tiles(rest_plan.height);
  static constexpr detail::filter_distances distances = {
      .channels = channels,
      .kernel_width = Shape.kernel_width,
      .x = {Shape.input_size(), static_cast<std::int64_t>(Shape.width) * Shape.channels, Shape.channels},
      .dy = {Shape.output_size(), static_cast<std::int64_t>(Shape.output_width()) * Shape.filters, Shape.filters}};

  share::range const range = part.of(Shape.groups * (whole * whole_tiles + rest_tiles));
  bool add = Accumulate;
  auto const sum_block = [&](detail::output_block const& block, float const* x_block, float const* dy_block) {
    std::int64_t begin = 0;
    auto const sum_panel = [&]<detail::tile_plan Plan>(int group, int p, std::int64_t tiles) {
      std::int64_t const first = range.first > begin ? range.first - begin : 0;
      std::int64_t const last = range.last - begin < tiles ? range.last - begin : tiles;
      begin += tiles;
      if (first >= last) return;
      float const* right = dy_block + group * filters + p * panel;
      detail::filter_distances at = distances;
      constexpr int width = Plan.vectors * lanes<Arch>;
      if constexpr (shape::template copies<Arch>) {
        detail::copy_outputs<Plan.vectors, Plan.columns - width + lanes<Arch>, Arch>(
            block, distances.dy, Shape.output_width(), right, workspace);
        at.dy.pixel = width;
        at.dy.row = Shape.output_width() * width;
        at.dy.sample = (block.row_end - block.row) * at.dy.row;
        right = workspace - block.row * at.dy.row;
      }
      constexpr bool in_one_piece = shape::template copies<Arch> || Shape.filters == width;
      detail::filter_gradient_panel<Plan, in_one_piece ? width : 0, Arch, Terms>(
          shape::parts[0], at, block, x_block + group * channels, right, first, last,
          detail::correlation_output<no_epilogue>{dw + static_cast<std::int64_t>(group) * layout::size +
                                                      static_cast<std::int64_t>(p) * layout::panel_stride,
                                                  0,
                                                  add,
                                                  false,
                                                  {}});
    };
    for (int group = 0; group < Shape.groups; ++group) {
      if constexpr (whole > 0)
        for (int p = 0; p < whole; ++p) sum_panel.template operator()<whole_plan>(group, p, whole_tiles);
      if constexpr (rest_tiles > 0) sum_panel.template operator()<rest_plan>(group, whole, rest_tiles);
    }
    add = true;
  };
  for (int sample = 0; sample < Batch; sample += shape::block_samples)
    for (int row = 0; row < Shape.output_height(); row += shape::block_rows)
      sum_block({sample + shape::block_samples < Batch ? shape::block_samples : Batch - sample, row,
                 row + shape::block_rows < Shape.output_height() ? row + shape::block_rows : Shape.output_height()},
                x + static_cast<std::int64_t>(sample) * Shape.input_size(),
                dy + static_cast<std::int64_t>(sample) * Shape.output_size());
}

}  // namespace stagecraft::kernels
