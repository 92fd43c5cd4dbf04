// SPDX-License-Identifier: BSD-3-Clause
// The division of a planned convolution: the part of each tile, and the cycles that it takes.
#pragma once

#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The indices from `first` to `last`, `last` excluded.
struct index_range {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] constexpr std::int64_t size() const noexcept { return last - first; }
  friend constexpr bool operator==(index_range const&, index_range const&) = default;

  /// The indices of a range whose elements are `each` indices each.
  [[nodiscard]] constexpr index_range times(std::int64_t each) const noexcept { return {first * each, last * each}; }
  /// Part number `index` of `parts`. The last ones may be smaller or empty; none is larger than the first.
  [[nodiscard]] constexpr index_range part(std::int64_t parts, std::int64_t index) const noexcept {
    return piece(ceil_div(size(), parts), index);
  }
  /// Piece number `index`, if the range is cut into pieces of one length.
  [[nodiscard]] constexpr index_range piece(std::int64_t length, std::int64_t index) const noexcept {
    return {smaller(first + index * length, last), smaller(first + (index + 1) * length, last)};
  }
};

/// A box of a transformed convolution: the part of a tile in one serial part, or the whole serial part. Channels and
/// groups count singly; those after the last are zeros.
struct convolution_part {
  index_range conv_groups, batch, rows, columns, kernel_rows, kernel_columns, in_chans, out_chans;

  [[nodiscard]] constexpr std::int64_t outputs() const noexcept {
    return conv_groups.size() * batch.size() * rows.size() * columns.size() * out_chans.size();
  }
  [[nodiscard]] constexpr std::int64_t weights() const noexcept {
    return conv_groups.size() * kernel_rows.size() * kernel_columns.size() * in_chans.size() * out_chans.size();
  }
};

/// A stage of the reduction of partial sums. `rows_in` tiles, or groups of tiles, have sums of the same outputs, of
/// which `tiles` are added up at once. What comes out, `rows_out` times all outputs, is spread over all tiles of the
/// reduction in whole chunks, one after the other.
struct reduction_stage {
  std::int64_t rows_in = 1;
  std::int64_t tiles = 1;
  std::int64_t rows_out = 1;
  std::int64_t chunks_per_tile = 0;
  bool is_last = true;
};

/// The division of a convolution by a plan. Tile 0 has most of everything but a vertex's cycles.
struct convolution_division {
  convolution_problem problem;
  convolution_view view;
  convolution_partition partition;
  bool sends_inputs_once = false;
  std::int64_t serial_out_parts = 1;  ///< serial parts of output channels that are not empty
  std::int64_t serial_in_parts = 1;
  bool kernel_is_there = false;  ///< the kernel lies on the tiles that multiply it, as they do (weight_mapping)

  constexpr convolution_division(convolution_shape const& shape, convolution_plan const& plan, ipu_target const& target,
                                 bool use_128bit_conv_unit_load, bool has_kernel = false) noexcept
      : problem{.shape = shape, .target = target, .use_128bit_conv_unit_load = use_128bit_conv_unit_load},
        view(convolution_view::of(shape, plan)),
        partition(plan.partition),
        sends_inputs_once(plan.broadcasts_before_loop),
        serial_out_parts(parts_used(view.out_chan_groups, partition.serial_out_chan_split)),
        serial_in_parts(parts_used(view.in_chan_groups, partition.serial_in_chan_split)),
        kernel_is_there(has_kernel) {}

  // The parts.

  /// The box of a whole serial part.
  [[nodiscard]] constexpr convolution_part serial_part(std::int64_t out, std::int64_t in) const noexcept {
    index_range const outs{0, view.out_chan_groups}, ins{0, view.in_chan_groups};
    return {.conv_groups = index_range{0, view.conv_groups}.times(view.conv_groups_per_group),
            .batch = {0, view.batch},
            .rows = {0, view.field.height},
            .columns = {0, view.field.width},
            .kernel_rows = index_range{0, view.kernel.height}.times(view.filter_height),
            .kernel_columns = index_range{0, view.kernel.width}.times(view.filter_width),
            .in_chans = ins.part(partition.serial_in_chan_split, in).times(view.in_chans_per_group),
            .out_chans = outs.part(partition.serial_out_chan_split, out).times(view.out_chans_per_group)};
  }
  /// A tile's part of it. Tiles with partial sums of the same outputs are neighbours: reduction_depth() of them.
  [[nodiscard]] constexpr convolution_part part(std::int64_t tile, std::int64_t out, std::int64_t in) const noexcept {
    auto const& p = partition;
    auto const next = [&tile](std::int64_t parts) {
      auto const index = tile % parts;
      tile /= parts;
      return index;
    };
    std::int64_t const in_chan = next(p.in_chan_split);
    std::int64_t const kernel_column = next(p.kernel_split.width), kernel_row = next(p.kernel_split.height);
    std::int64_t const out_chan = next(p.out_chan_split);
    std::int64_t const column = next(p.field_split.width), row = next(p.field_split.height);
    std::int64_t const batch = next(p.batch_split), conv_group = tile;
    auto const of = [](std::int64_t size, std::int64_t parts, std::int64_t index) {
      return index_range{0, size}.part(parts, index);
    };
    return {.conv_groups = of(view.conv_groups, p.conv_group_split, conv_group).times(view.conv_groups_per_group),
            .batch = of(view.batch, p.batch_split, batch),
            .rows = of(view.field.height, p.field_split.height, row),
            .columns = of(view.field.width, p.field_split.width, column),
            .kernel_rows = of(view.kernel.height, p.kernel_split.height, kernel_row).times(view.filter_height),
            .kernel_columns = of(view.kernel.width, p.kernel_split.width, kernel_column).times(view.filter_width),
            .in_chans = channels(view.in_chan_groups, p.serial_in_chan_split, in, p.in_chan_split, in_chan)
                            .times(view.in_chans_per_group),
            .out_chans = channels(view.out_chan_groups, p.serial_out_chan_split, out, p.out_chan_split, out_chan)
                             .times(view.out_chans_per_group)};
  }

  /// Zeros before the transformed input.
  [[nodiscard]] constexpr field_size padding() const noexcept {
    auto const& transform = view.transform;
    auto const& lower = problem.shape.padding_lower;
    return {.height = transform.expand_height || transform.flatten_field ? 0 : lower.height,
            .width = transform.expand_width || transform.flatten_field ? 0 : lower.width};
  }
  /// The rows and columns of the input that a part needs, as many for each part of a size: those that follow are taken
  /// to make up for those outside of the input.
  struct input_box {
    index_range rows, columns;
  };
  [[nodiscard]] constexpr input_box inputs_of(convolution_part const& part) const noexcept {
    field_size const all = view.inputs_of(view.field, view.kernel);
    field_size const some = view.inputs_of({.height = part.rows.size(), .width = part.columns.size()},
                                           {.height = part.kernel_rows.size() / view.filter_height,
                                            .width = part.kernel_columns.size() / view.filter_width});
    field_size const zeros = padding();
    return {
        range_of_inputs(part.rows.first * view.stride.height, part.kernel_rows.first * view.kernel_dilation.height,
                        zeros.height, view.input_dilation.height, view.input_field.height, all.height, some.height),
        range_of_inputs(part.columns.first * view.stride.width, part.kernel_columns.first * view.kernel_dilation.width,
                        zeros.width, view.input_dilation.width, view.input_field.width, all.width, some.width)};
  }
  /// Elements of the input that a part needs.
  [[nodiscard]] constexpr std::int64_t inputs(convolution_part const& part) const noexcept {
    if (part.weights() == 0) return 0;
    auto const box = inputs_of(part);
    return part.conv_groups.size() * part.batch.size() * part.in_chans.size() * box.rows.size() * box.columns.size();
  }
  /// True if a tile has partial sums to compute; some of them may be zero, too.
  [[nodiscard]] static constexpr bool multiplies(convolution_part const& part) noexcept {
    return part.outputs() > 0 && part.weights() > 0;
  }

  // The kernel, where the plan decides how it lies. With swapped operands, it is what the plan calls inputs.

  [[nodiscard]] constexpr bool kernel_is_input() const noexcept { return view.transform.swap_operands; }
  [[nodiscard]] constexpr bool inputs_are_there() const noexcept { return kernel_is_there && kernel_is_input(); }
  [[nodiscard]] constexpr bool weights_are_there() const noexcept { return kernel_is_there && !kernel_is_input(); }
  [[nodiscard]] constexpr bool lays_out_inputs() const noexcept {
    return view.rearranges_inputs && !inputs_are_there();
  }
  [[nodiscard]] constexpr bool lays_out_weights() const noexcept {
    return view.rearranges_weights && !weights_are_there();
  }

  /// Elements of a part's slice of the kernel.
  [[nodiscard]] constexpr std::int64_t kernel_slice(convolution_part const& part) const noexcept {
    return kernel_is_input() ? part.conv_groups.size() * part.columns.size() * part.in_chans.size() : part.weights();
  }
  /// Slices of the kernel on a tile: one for each serial part.
  [[nodiscard]] constexpr std::int64_t kernel_slices() const noexcept {
    return kernel_is_input() ? serial_in_parts : serial_out_parts * serial_in_parts;
  }
  [[nodiscard]] constexpr std::int64_t kernel_slice_of(std::int64_t out, std::int64_t in) const noexcept {
    return kernel_is_input() ? in : out * serial_in_parts + in;
  }
  /// The number of tiles that multiply the same slice. Their tile numbers are kernel_sharer_stride() apart.
  [[nodiscard]] constexpr std::int64_t kernel_sharers() const noexcept {
    return kernel_is_input() ? partition.out_chan_split : partition.batch_split * partition.field_split.elements();
  }
  [[nodiscard]] constexpr std::int64_t kernel_sharer_stride() const noexcept {
    return partition.reduction_depth() * (kernel_is_input() ? 1 : partition.out_chan_split);
  }
  /// Shares are whole loads of 64 bits, whatever their type.
  static constexpr std::int64_t kernel_grain = 4;
  [[nodiscard]] constexpr std::int64_t kernel_share() const noexcept {
    return ceil_div(ceil_div(kernel_slice(part(0, 0, 0)), kernel_sharers()), kernel_grain) * kernel_grain;
  }
  /// The elements of its slice that lie on a tile: the last sharer has the first ones, so that tile 0, which receives
  /// most of all else, has least.
  [[nodiscard]] constexpr index_range kernel_share_of(std::int64_t tile, convolution_part const& part) const noexcept {
    std::int64_t const sharer = tile / kernel_sharer_stride() % kernel_sharers();
    return index_range{0, kernel_slice(part)}.piece(kernel_share(), kernel_sharers() - 1 - sharer);
  }
  /// The tile that has an element of the slice of `tile`.
  [[nodiscard]] constexpr std::int64_t kernel_tile_of(std::int64_t tile, std::int64_t element) const noexcept {
    std::int64_t const stride = kernel_sharer_stride(), sharers = kernel_sharers();
    return tile + (sharers - 1 - element / kernel_share() - tile / stride % sharers) * stride;
  }
  /// Elements that a tile receives for a part.
  [[nodiscard]] constexpr std::int64_t received_inputs(std::int64_t tile, convolution_part const& part) const noexcept {
    return inputs(part) - (inputs_are_there() ? kernel_share_of(tile, part).size() : 0);
  }
  [[nodiscard]] constexpr std::int64_t received_weights(std::int64_t tile,
                                                        convolution_part const& part) const noexcept {
    return part.weights() - (weights_are_there() ? kernel_share_of(tile, part).size() : 0);
  }

  // Data that are laid out before they are sent to the tiles that multiply them: each tile has an even share.

  [[nodiscard]] constexpr std::int64_t share(std::int64_t elements) const noexcept {
    return ceil_div(elements, partition.tiles());
  }
  [[nodiscard]] constexpr std::int64_t copy_cycles(std::int64_t elements, dtype type) const noexcept {
    return problem.copy_cycles(elements * size_of(type), size_of(type));
  }

  // Cycles of a tile.

  /// Cycles of converting elements in whole vectors: single elements after the last would take longer than one more.
  [[nodiscard]] constexpr std::int64_t cast_cycles(std::int64_t elements) const noexcept {
    if (elements == 0) return 0;
    std::int64_t const whole =
        std::int64_t{problem.target.num_worker_contexts} * problem.target.vector_width(problem.shape.operand());
    return problem.cast_cycles(ceil_div(elements, whole) * whole);
  }
  /// Cycles of the vertex that computes partial sums. Where there is nothing to multiply, it sets them to zero.
  [[nodiscard]] constexpr std::int64_t compute_cycles(convolution_part const& part) const noexcept {
    std::int64_t const outputs = part.outputs();
    if (outputs == 0) return 0;
    if (part.weights() == 0)
      return vertices::zero_partials{.type = view.partials, .elements_per_group = outputs}.cycles(problem.target);
    return problem.compute_cycles(view,
                                  {.conv_groups = part.conv_groups.size(),
                                   .batch = part.batch.size(),
                                   .field = {.height = part.rows.size(), .width = part.columns.size()},
                                   .kernel = {.height = part.kernel_rows.size(), .width = part.kernel_columns.size()},
                                   .in_chans = part.in_chans.size(),
                                   .out_chans = part.out_chans.size(),
                                   .inputs = inputs(part),
                                   .weights = part.weights(),
                                   .partials = outputs});
  }
  /// Cycles of the tile that takes longest. A smaller part of the field may be harder to divide among the workers, and
  /// a single kernel element has a vertex of its own; of all else, tile 0 has most.
  [[nodiscard]] constexpr std::int64_t longest_compute_cycles(std::int64_t out, std::int64_t in) const noexcept {
    auto const& p = partition;
    std::int64_t const last[5]{last_of(view.kernel.width, p.kernel_split.width),
                               last_of(view.kernel.height, p.kernel_split.height),
                               last_of(view.field.width, p.field_split.width),
                               last_of(view.field.height, p.field_split.height), last_of(view.batch, p.batch_split)};
    std::int64_t const width = p.in_chan_split, height = width * p.kernel_split.width;
    std::int64_t const column = height * p.kernel_split.height * p.out_chan_split;
    std::int64_t const row = column * p.field_split.width, batch = row * p.field_split.height;
    std::int64_t const step[5]{width, height, column, row, batch};
    std::int64_t longest = 0;
    for (unsigned choice = 0; choice < 32; ++choice) {
      std::int64_t tile = 0;
      bool is_new = true;
      for (int i = 0; i < 5; ++i) {
        if ((choice >> i & 1U) == 0) continue;
        is_new = is_new && last[i] > 0;
        tile += last[i] * step[i];
      }
      if (is_new) longest = larger(longest, compute_cycles(part(tile, out, in)));
    }
    return longest;
  }

  // Partial sums of several tiles.

  [[nodiscard]] constexpr bool adds_serial_parts() const noexcept { return serial_in_parts > 1; }
  /// The type of a serial part's sums: sums of several parts are added up before they are rounded.
  [[nodiscard]] constexpr dtype sums() const noexcept {
    return adds_serial_parts() ? view.partials : problem.shape.output;
  }
  [[nodiscard]] constexpr int stages() const noexcept {
    return convolution_reduction::stages_of(partition.reduction_depth());
  }
  /// Elements that are added up at once.
  [[nodiscard]] constexpr std::int64_t chunk() const noexcept { return view.partials == dtype::float16 ? 8 : 4; }
  /// Stage `index` of the reduction, for a tile with partial sums of `outputs` outputs.
  [[nodiscard]] constexpr reduction_stage stage(int index, std::int64_t outputs) const noexcept {
    std::int64_t const depth = partition.reduction_depth();
    reduction_stage result{.rows_out = depth};
    for (int i = 0; i <= index; ++i) {
      int const left = stages() - i;
      result.rows_in = result.rows_out;
      result.tiles = left == 1 ? result.rows_in : convolution_reduction::root(result.rows_in, left);
      result.rows_out = ceil_div(result.rows_in, result.tiles);
      result.is_last = left == 1;
    }
    result.chunks_per_tile = ceil_div(ceil_div(outputs, chunk()) * result.rows_out, depth);
    return result;
  }
  /// Tiles of a reduction in one stage find their own partial sums where they are; otherwise all are sent.
  [[nodiscard]] constexpr bool sends_own_partials() const noexcept { return stages() > 1; }
  /// Cycles in which a tile adds up `chunks` chunks of outputs.
  [[nodiscard]] constexpr std::int64_t reduce_cycles(reduction_stage const& stage, std::int64_t chunks) const noexcept {
    return vertices::reduce_partials{.partials = view.partials,
                                     .output = stage.is_last ? sums() : view.partials,
                                     .outputs = chunks * chunk(),
                                     .depth = stage.tiles,
                                     .single_input = true}
        .cycles(problem.target);
  }
  /// Outputs that a tile has after the reduction, if it had partial sums of `outputs` outputs.
  [[nodiscard]] constexpr std::int64_t outputs_kept(std::int64_t outputs) const noexcept {
    if (stages() == 0) return outputs;
    return smaller(stage(stages() - 1, outputs).chunks_per_tile * chunk(), outputs);
  }
  [[nodiscard]] constexpr std::int64_t add_cycles(std::int64_t elements) const noexcept {
    if (elements == 0) return 0;
    return vertices::binary_op{
        .operation = vertices::binary_operation::add, .type = view.partials, .elements = elements, .in_place = true}
        .cycles(problem.target);
  }
  /// Cycles of rounding partial sums to results; 0 if both have one type.
  [[nodiscard]] constexpr std::int64_t rounding_cycles(std::int64_t elements) const noexcept {
    return vertices::reduce_partials{
        .partials = view.partials, .output = problem.shape.output, .outputs = elements, .depth = 1}
        .cycles(problem.target);
  }
  /// True if a vertex writes its partial sums to the place of the results.
  [[nodiscard]] constexpr bool computes_in_place() const noexcept { return stages() == 0 && view.partials == sums(); }

 private:
  /// The number of the last part, or 0 if it is as large as the others.
  [[nodiscard]] static constexpr std::int64_t last_of(std::int64_t size, std::int64_t parts) noexcept {
    return size % ceil_div(size, parts) == 0 ? 0 : parts_used(size, parts) - 1;
  }
  [[nodiscard]] static constexpr std::int64_t parts_used(std::int64_t size, std::int64_t parts) noexcept {
    return ceil_div(size, ceil_div(size, parts));
  }
  /// Parts of channels within a serial part, as long in the last as in the others.
  [[nodiscard]] static constexpr index_range channels(std::int64_t groups, std::int64_t serial_parts,
                                                      std::int64_t serial, std::int64_t parts,
                                                      std::int64_t index) noexcept {
    std::int64_t const length = ceil_div(ceil_div(groups, serial_parts), parts);
    return index_range{0, groups}.part(serial_parts, serial).piece(length, index);
  }
  [[nodiscard]] static constexpr index_range range_of_inputs(std::int64_t output, std::int64_t kernel,
                                                             std::int64_t zeros, std::int64_t dilation,
                                                             std::int64_t inputs, std::int64_t all,
                                                             std::int64_t some) noexcept {
    auto const from = [&](std::int64_t place, std::int64_t least, std::int64_t most) {
      return smaller(larger(place <= 0 ? 0 : ceil_div(place, dilation), least), most);
    };
    std::int64_t const first = from(-zeros, 0, inputs - all);
    std::int64_t const result = from(output + kernel - zeros, first, first + all - some);
    return {result, result + some};
  }
};

}  // namespace stagecraft::tiles
