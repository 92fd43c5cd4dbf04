// SPDX-License-Identifier: BSD-3-Clause
// The cost of one way to divide a convolution among tiles, with the reduction of partial sums where several tiles have
// some of the same outputs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/conv_macs.hpp>
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/multi_slice.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Tiles, `depth` of them, have partial sums of the same outputs. Each becomes responsible for a part of the outputs,
/// receives the others' partial sums of it and adds them up. A deep reduction does that in stages, each for groups of
/// tiles only: 2 for a depth from 16, 3 from 125. That saves no cycles of exchange, but messages, whose code fills the
/// tiles' memory.
///
/// Parts are multiples of what the vertex adds at once, so that it always finds one single input. A depth of 1 is at
/// most a cast.
/// Sources: poplibs, lib/poplin/ConvReducePlan.cpp (numbers of stages); ConvModel.cpp, addReduceCycleEstimate and
/// addExchangeCycleEstimates, which have each tile receive its own partial sums, too.
struct convolution_reduction {
  dtype partials = dtype::float32;
  dtype output = dtype::float32;
  std::int64_t elements = 0;  ///< partial sums of a tile
  std::int64_t depth = 1;

  std::int64_t exchange = 0;  ///< cycles of exchange, all stages
  std::int64_t reduce = 0;    ///< cycles of adding up, all stages
  std::int64_t temporary_bytes = 0;
  std::int64_t outputs = 0;  ///< outputs of a tile after the last stage
  int stages = 0;

  constexpr convolution_reduction(ipu_target const& target, dtype partials_type, dtype output_type, std::int64_t count,
                                  std::int64_t reduction_depth) noexcept
      : partials(partials_type), output(output_type), elements(count), depth(reduction_depth), outputs(count) {
    if (depth < 2) {
      reduce = vertices::reduce_partials{.partials = partials, .output = output, .outputs = count, .depth = 1}.cycles(
          target);
      return;
    }
    std::int64_t const grain = partials == dtype::float16 ? 8 : 4;
    stages = stages_of(depth);
    std::int64_t remaining = depth;
    for (int left = stages; left > 0; --left) {
      std::int64_t const tiles = left == 1 ? remaining : root(remaining, left);
      // Groups of `tiles` tiles, where the last may be smaller: their sums are spread evenly over all tiles.
      std::int64_t const sums = ceil_div(remaining, tiles);
      std::int64_t const part = ceil_div(ceil_div(outputs, grain) * sums, remaining) * grain;
      std::int64_t const received = (tiles - 1) * part * size_of(partials);
      exchange += exchange_cycles(target, received);
      reduce += vertices::reduce_partials{.partials = partials,
                                          .output = left == 1 ? output : partials,
                                          .outputs = part,
                                          .depth = tiles,
                                          .single_input = true}
                    .cycles(target);
      temporary_bytes = larger(temporary_bytes, outputs * size_of(partials) + received);
      outputs = part;
      remaining = sums;
    }
  }

  /// The number of stages of a reduction of a depth.
  [[nodiscard]] static constexpr int stages_of(std::int64_t depth) noexcept {
    return depth >= 125 ? 3 : depth >= 16 ? 2 : depth >= 2 ? 1 : 0;
  }
  /// The smallest number whose power is not below: how many tiles a stage adds up at once.
  [[nodiscard]] static constexpr std::int64_t root(std::int64_t number, int power) noexcept {
    std::int64_t result = 1;
    while ((power == 2 ? result * result : result * result * result) < number) ++result;
    return result;
  }
};

/// The convolution, the machine and the options that all compared plans share.
struct convolution_problem {
  convolution_shape shape;
  ipu_target target;
  bool use_128bit_conv_unit_load = false;

  /// The part of the tile with most, for one serial part.
  [[nodiscard]] static constexpr convolution_tile tile_of(convolution_view const& view,
                                                          convolution_partition const& partition) noexcept {
    convolution_tile tile;
    std::int64_t const in_groups =
        ceil_div(ceil_div(view.in_chan_groups, partition.serial_in_chan_split), partition.in_chan_split);
    std::int64_t const out_groups =
        ceil_div(ceil_div(view.out_chan_groups, partition.serial_out_chan_split), partition.out_chan_split);
    field_size const kernel{.height = ceil_div(view.kernel.height, partition.kernel_split.height),
                            .width = ceil_div(view.kernel.width, partition.kernel_split.width)};
    tile.conv_groups = ceil_div(view.conv_groups, partition.conv_group_split) * view.conv_groups_per_group;
    tile.batch = ceil_div(view.batch, partition.batch_split);
    tile.field = {.height = ceil_div(view.field.height, partition.field_split.height),
                  .width = ceil_div(view.field.width, partition.field_split.width)};
    tile.kernel = {.height = kernel.height * view.filter_height, .width = kernel.width * view.filter_width};
    tile.in_chans = in_groups * view.in_chans_per_group;
    tile.out_chans = out_groups * view.out_chans_per_group;
    tile.inputs = tile.conv_groups * tile.batch * tile.in_chans * view.inputs_of(tile.field, kernel).elements();
    // The groups of a convolution of single channels are its channels.
    tile.weights = tile.conv_groups * tile.kernel.elements() * tile.in_chans * tile.out_chans;
    tile.partials = tile.conv_groups * tile.batch * tile.field.elements() * tile.out_chans;
    return tile;
  }

  /// Cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t compute_cycles(convolution_view const& view,
                                                      convolution_tile const& tile) const noexcept {
    std::int64_t const in_groups = tile.in_chans / view.in_chans_per_group;
    std::int64_t const out_groups = tile.out_chans / view.out_chans_per_group;
    field_size const reached = view.reached(tile.field);
    int const workers = target.num_worker_contexts;
    switch (view.vertex) {
      case convolution_vertex::conv_partial_1x1:
        return vertices::conv_partial_1x1{.input = shape.operand(),
                                          .partials = view.partials,
                                          .conv_units = view.conv_units,
                                          .field_elements = tile.batch * tile.field.elements(),
                                          .conv_groups = tile.conv_groups,
                                          .in_chan_groups = in_groups,
                                          .out_chan_groups = out_groups,
                                          .in_chans_per_group = view.in_chans_per_group,
                                          .out_chans_per_group = view.out_chans_per_group,
                                          .use_128bit_conv_unit_load = use_128bit_conv_unit_load}
            .cycles(target);
      case convolution_vertex::conv_partial_nx1: {
        vertices::conv_partial_nx1 const vertex{.input = shape.operand(),
                                                .partials = view.partials,
                                                .conv_units = view.conv_units,
                                                .field_rows = tile.batch * reached.height,
                                                .row_elements = reached.width,
                                                .conv_groups = tile.conv_groups,
                                                .in_chan_groups = in_groups,
                                                .out_chan_groups = out_groups,
                                                .in_chans_per_group = view.in_chans_per_group,
                                                .out_chans_per_group = view.out_chans_per_group,
                                                .filter_height = view.filter_height,
                                                .kernel_outer_elements = tile.kernel.height / view.filter_height,
                                                .kernel_inner_elements = tile.kernel.width,
                                                .use_128bit_conv_unit_load = use_128bit_conv_unit_load};
        std::int64_t cycles = vertex.cycles(target);
        if (reached != tile.field) {  // all outputs are set to zero
          auto zeroing = vertex.zeroing();
          cycles -= zeroing.cycles(target);
          zeroing.elements_per_group = tile.batch * tile.field.elements() * view.out_chans_per_group;
          cycles += zeroing.cycles(target);
        }
        return cycles;
      }
      case convolution_vertex::conv_partial_slic:
        return vertices::conv_partial_slic{
            .partials = view.partials,
            .conv_units = view.conv_units,
            .conv_groups_at_once = view.conv_groups_per_group,
            .field_rows = tile.batch * tile.field.height,
            .row_elements = tile.field.width,
            .conv_groups = tile.conv_groups / view.conv_groups_per_group,
            .kernel_blocks = tile.kernel.height * (tile.kernel.width / view.filter_width),
            .stride = static_cast<int>(view.stride.width)}
            .cycles(target);
      case convolution_vertex::horizontal_mac:
        return vertices::horizontal_mac{.input = shape.operand(),
                                        .partials = view.partials,
                                        .field_rows = tile.batch * reached.height,
                                        .row_elements = reached.width,
                                        .kernel_elements = tile.kernel.elements(),
                                        .conv_groups = tile.conv_groups,
                                        .in_chan_groups = in_groups,
                                        .out_chan_groups = out_groups,
                                        .in_chans_per_group = view.in_chans_per_group,
                                        .out_chans_per_group = view.out_chans_per_group}
                   .cycles(target) +
               vertices::zero_partials{.type = view.partials, .elements_per_group = tile.partials}.cycles(target);
      case convolution_vertex::vertical_mac:
        return vertices::vertical_mac{.partials = view.partials,
                                      .outputs = tile.batch * reached.elements(),
                                      .kernel_height = tile.kernel.height,
                                      .kernel_width = tile.kernel.width,
                                      .groups_per_vector = view.conv_groups_per_group,
                                      .conv_groups = tile.conv_groups / view.conv_groups_per_group,
                                      .in_chan_groups = in_groups}
            .cycles(target);
      default:  // each worker has a part of the field
        return workers * tile.conv_groups *
               vertices::outer_product{.type = shape.operand(),
                                       .width = ceil_div(tile.batch * tile.field.elements(), workers),
                                       .chan_groups = out_groups,
                                       .chans_per_group = view.out_chans_per_group}
                   .worker_cycles();
    }
  }

  /// The plan of a way to compute the convolution and to divide it, with all its cycles and bytes.
  ///
  /// Sources: poplibs, lib/poplin/ConvModel.cpp: addExchangeCycleEstimates, addTransformCycleEstimate, addEstimates.
  /// Differences to the source: syncs are counted; partial sums that no other tile adds to stay where they are; each
  /// worker copies a part of a dynamic slice as one row of a gather.
  [[nodiscard]] constexpr convolution_plan plan_of(convolution_view const& view, convolution_partition const& partition,
                                                   std::int64_t bytes_allowed) const noexcept {
    convolution_plan plan{.vertex = view.vertex,
                          .partials = view.partials,
                          .conv_units = view.conv_units,
                          .conv_groups_per_group = view.conv_groups_per_group,
                          .in_chans_per_group = view.in_chans_per_group,
                          .out_chans_per_group = view.out_chans_per_group,
                          .filter_height = view.filter_height,
                          .filter_width = view.filter_width,
                          .transform = view.transform,
                          .partition = partition,
                          .tile = tile_of(view, partition),
                          .cycles = {}};
    convolution_tile const& tile = plan.tile;
    std::int64_t const size = size_of(shape.input);
    std::int64_t const partial_size = size_of(view.partials);
    std::int64_t const tiles = partition.tiles();
    std::int64_t const serial = partition.serial_splits();
    bool const adds = partition.serial_in_chan_split > 1;

    // A share of what several tiles need lies on each of them.
    std::int64_t const weight_tiles = partition.field_split.elements() * partition.batch_split;
    std::int64_t const inputs_in = exchange_cycles(
        target, (tile.inputs - tile.inputs / partition.out_chan_split) * size, partition.out_chan_split);
    std::int64_t const weights_in = exchange_cycles(target, (tile.weights - tile.weights / weight_tiles) * size);
    convolution_reduction const reduction(target, view.partials, adds ? view.partials : shape.output, tile.partials,
                                          partition.reduction_depth());
    plan.reduce_stages = reduction.stages;

    layout_costs const layout = layout_of(view, partition, tiles);
    std::int64_t const input_share = layout.input_bytes;
    std::int64_t const weight_share = layout.weight_bytes;

    // Serial parts are taken out of the whole and put into it. If the input channels are not divided, inputs may be
    // sent once.
    std::int64_t slicing = 0;
    if (partition.serial_in_chan_split > 1) slicing += slice_cycles(shape.input, input_share / size, false);
    if (serial > 1) slicing += slice_cycles(shape.input, weight_share / size, false);
    if (partition.serial_out_chan_split > 1) slicing += slice_cycles(shape.output, reduction.outputs, true);
    if (adds)
      slicing += vertices::binary_op{.operation = vertices::binary_operation::add,
                                     .type = view.partials,
                                     .elements = reduction.outputs,
                                     .in_place = true}
                     .cycles(target);

    // Memory: data that are live at the same time.
    std::int64_t const size_in_memory = size + (shape.multiplies_float16 ? size_of(shape.operand()) : 0);
    std::int64_t const input_bytes = tile.inputs * size_in_memory;
    std::int64_t const others = tile.weights * size_in_memory + tile.partials * partial_size +
                                scratch_bytes(view, tile.conv_groups, tile.partials);
    std::int64_t const weight_layout_bytes = view.rearranges_weights ? 2 * weight_share : 0;
    std::int64_t const output_layout_bytes = view.rearranges_output ? 2 * layout.output_bytes : 0;
    std::int64_t const layout_bytes = larger(weight_layout_bytes, output_layout_bytes);
    std::int64_t const input_layout_bytes = view.rearranges_inputs ? input_share : 0;
    std::int64_t const sum_bytes = adds ? reduction.outputs * partial_size : 0;
    std::int64_t const bytes_inside =
        larger(larger(layout_bytes, 2 * input_layout_bytes), larger(input_bytes + others, reduction.temporary_bytes)) +
        sum_bytes;
    std::int64_t const bytes_before =
        input_layout_bytes + input_bytes + larger(layout_bytes, larger(others, reduction.temporary_bytes)) + sum_bytes;
    plan.broadcasts_before_loop = partition.serial_out_chan_split > 1 && !adds && bytes_before <= bytes_allowed;
    plan.temporary_bytes = plan.broadcasts_before_loop ? bytes_before : bytes_inside;

    std::int64_t const input_times = plan.broadcasts_before_loop ? 1 : serial;
    std::int64_t const phases = (layout.inputs > 0 || layout.weights > 0 ? 1 : 0) +
                                (weights_in + (input_times == serial ? inputs_in : 0) > 0 ? 1 : 0) + reduction.stages +
                                (layout.output > 0 ? 1 : 0);
    plan.cycles = {.rearrange = input_times * layout.inputs + serial * (layout.weights + layout.output),
                   .slice = serial * slicing,
                   .exchange_in = input_times * inputs_in + serial * weights_in,
                   .cast = 0,
                   .compute = serial * compute_cycles(view, tile),
                   .exchange_partials = serial * reduction.exchange,
                   .reduce = 0,
                   .sync = (serial * phases + (plan.broadcasts_before_loop ? 1 : 0)) * sync_cycles(target)};
    if (reduction.stages > 0)
      plan.cycles.reduce = serial * reduction.reduce;
    else
      plan.cycles.cast = serial * reduction.reduce;
    if (shape.multiplies_float16)
      plan.cycles.cast += input_times * cast_cycles(tile.inputs) + serial * cast_cycles(tile.weights);
    if (adds)  // after the last
      plan.cycles.cast +=
          vertices::reduce_partials{
              .partials = view.partials, .output = shape.output, .outputs = reduction.outputs, .depth = 1}
              .cycles(target);
    return plan;
  }

  /// Bytes that a vertex needs for itself: SLIC puts the partial sums of one group of the convolution there.
  /// Source: poplibs, lib/poplin/ConvModel.cpp, addConvTempMemoryEstimate.
  [[nodiscard]] constexpr std::int64_t scratch_bytes(convolution_view const& view, std::int64_t conv_groups,
                                                     std::int64_t partials) const noexcept {
    if (view.vertex != convolution_vertex::conv_partial_slic || partials == 0) return 0;
    return ceil_div(partials * size_of(view.partials), conv_groups / view.conv_groups_per_group) + 200;
  }

  /// The cost of laying data out, if that is necessary; bytes are a tile's even share of all data.
  struct layout_costs {
    std::int64_t input_bytes = 0;
    std::int64_t weight_bytes = 0;
    std::int64_t output_bytes = 0;
    std::int64_t inputs = 0;  ///< cycles
    std::int64_t weights = 0;
    std::int64_t output = 0;
  };
  [[nodiscard]] constexpr layout_costs layout_of(convolution_view const& view, convolution_partition const& partition,
                                                 std::int64_t tiles) const noexcept {
    std::int64_t const size = size_of(shape.input);
    std::int64_t const output_size = size_of(partition.serial_in_chan_split > 1 ? view.partials : shape.output);
    std::int64_t const groups = view.conv_groups * view.conv_groups_per_group;
    std::int64_t const in_chans =
        ceil_div(view.in_chan_groups, partition.serial_in_chan_split) * view.in_chans_per_group;
    std::int64_t const out_chans =
        ceil_div(view.out_chan_groups, partition.serial_out_chan_split) * view.out_chans_per_group;
    std::int64_t const inputs = in_chans * view.batch * view.inputs_of(view.field, view.kernel).elements();
    std::int64_t const weights = in_chans * out_chans * view.kernel.elements() * view.filter_height * view.filter_width;
    std::int64_t const outputs = out_chans * view.batch * view.field.elements();
    layout_costs result{.input_bytes = ceil_div(groups * inputs * size, tiles),
                        .weight_bytes = ceil_div(groups * weights * size, tiles),
                        .output_bytes = ceil_div(groups * outputs * output_size, tiles)};
    if (view.rearranges_inputs) result.inputs = rearrange_cycles(result.input_bytes, size);
    if (view.rearranges_weights) result.weights = rearrange_cycles(result.weight_bytes, size);
    if (view.rearranges_output) result.output = rearrange_cycles(result.output_bytes, output_size);
    return result;
  }
  /// Copies element by element on a tile, slower than one by one since many have odd sizes, and an exchange.
  [[nodiscard]] constexpr std::int64_t rearrange_cycles(std::int64_t bytes, std::int64_t element_bytes) const noexcept {
    return copy_cycles(bytes, element_bytes) + exchange_cycles(target, bytes);
  }
  /// Source: poplibs, lib/poplin/ConvModel.cpp, getScaleFactorForTransform: 5 / 4.
  [[nodiscard]] constexpr std::int64_t copy_cycles(std::int64_t bytes, std::int64_t element_bytes) const noexcept {
    return ceil_div(bytes * 5, 4 * smaller(target.memcpy_bytes_per_cycle, element_bytes));
  }
  [[nodiscard]] constexpr std::int64_t cast_cycles(std::int64_t elements) const noexcept {
    return vertices::cast{.from = shape.input, .to = shape.operand(), .elements = elements}.cycles(target);
  }
  [[nodiscard]] constexpr std::int64_t slice_cycles(dtype type, std::int64_t elements, bool is_update) const noexcept {
    return vertices::multi_slice{.type = type,
                                 .row_elements = elements,
                                 .offsets = 1,
                                 .offsets_in_range = 1,
                                 .is_update = is_update,
                                 .split_single_region = true}
        .cycles(target);
  }
};

}  // namespace stagecraft::tiles
