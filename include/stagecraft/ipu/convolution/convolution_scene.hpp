// SPDX-License-Identifier: BSD-3-Clause
// Part counts for the search for a plan, and the figures that all divisions of a convolution share which compute it in
// one way. Only the largest part of a dimension counts: among part counts with the same largest part, the smallest is
// the one.
#pragma once

#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// The next number of parts that makes the largest part of `size` smaller: at most `percent` of what it was.
[[nodiscard]] constexpr std::int64_t next_split(std::int64_t size, std::int64_t parts, int percent = 100) noexcept {
  std::int64_t const part = (size + parts - 1) / parts;
  if (part < 2) return INT32_MAX;
  std::int64_t const most = percent < 100 ? part * percent / 100 : part - 1;
  return most < 2 ? size : (size + most - 1) / most;
}
/// The part count whose largest part is `steps` larger.
[[nodiscard]] constexpr std::int64_t other_split(std::int64_t size, std::int64_t parts, std::int64_t steps) noexcept {
  std::int64_t const part = ceil_div(size, parts);
  std::int64_t const other = part + steps * larger(1, part / 32);
  return ceil_div(size, smaller(size, larger(1, other)));
}
/// The least part count whose largest part is as small as with `most` parts.
[[nodiscard]] constexpr std::int64_t fewest_parts(std::int64_t size, std::int64_t most) noexcept {
  if (most >= size) return size;
  std::int64_t const part = (size + most - 1) / most;
  return (size + part - 1) / part;
}

/// A part count, and those whose largest parts are up to some steps larger and smaller.
struct neighbouring_splits {
  static constexpr int most_steps = 3;
  std::int64_t parts[2 * most_steps + 1]{};
  int count = 0;

  constexpr neighbouring_splits(std::int64_t size, std::int64_t of, int steps) noexcept {
    for (int step = -steps; step <= steps; ++step) {
      std::int64_t const other = other_split(size, of, step);
      if (count == 0 || parts[count - 1] != other) parts[count++] = other;
    }
  }
  [[nodiscard]] constexpr std::int64_t const* begin() const noexcept { return parts; }
  [[nodiscard]] constexpr std::int64_t const* end() const noexcept { return parts + count; }
};

/// Part counts of a convolution's dimensions, but for field and batch.
struct part_counts {
  std::int64_t groups = 1, kernel_height = 1, kernel_width = 1, out_chans = 1, in_chans = 1;

  [[nodiscard]] constexpr std::int64_t product() const noexcept {
    return groups * kernel_height * kernel_width * out_chans * in_chans;
  }
};

/// A lower bound on the cycles and bytes of any plan with some part counts. It is not exact: a plan may fall slightly
/// below it.
struct plan_bound {
  std::int64_t cycles = INT64_MAX;
  std::int64_t bytes = INT64_MAX;

  friend constexpr bool operator==(plan_bound const&, plan_bound const&) = default;
};

/// The most promising part counts, the best first.
struct part_counts_short_list {
  static constexpr int capacity = 6;
  part_counts parts[capacity];
  plan_bound bounds[capacity];
  int count = 0;

  constexpr void insert(plan_bound const& bound, part_counts const& of, bool by_bytes) noexcept {
    int place = count;
    while (place > 0 && (by_bytes ? bound.bytes < bounds[place - 1].bytes : bound.cycles < bounds[place - 1].cycles))
      --place;
    if (place == capacity || (place > 0 && bounds[place - 1] == bound)) return;  // full, or as good as another
    if (count < capacity) ++count;
    for (int k = count - 1; k > place; --k) {
      bounds[k] = bounds[k - 1];
      parts[k] = parts[k - 1];
    }
    bounds[place] = bound;
    parts[place] = of;
  }
};

/// Part counts that were tried already. Those that come after the first 40 are forgotten.
struct tried_part_counts {
  static constexpr int capacity = 40;
  std::uint64_t keys[capacity]{};
  int count = 0;
  std::uint64_t radix;  ///< larger than all part counts; up to 3000, no two keys are the same

  constexpr explicit tried_part_counts(std::int64_t most_parts) noexcept
      : radix(static_cast<std::uint64_t>(most_parts) + 1) {}

  constexpr void add(int thing, part_counts const& parts) noexcept {
    if (count < capacity) keys[count++] = key_of(thing, parts);
  }
  [[nodiscard]] constexpr bool contains(int thing, part_counts const& parts) const noexcept {
    std::uint64_t const key = key_of(thing, parts);
    for (int k = 0; k < count; ++k)
      if (keys[k] == key) return true;
    return false;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t key_of(int thing, part_counts const& parts) const noexcept {
    auto key = static_cast<std::uint64_t>(thing);
    for (std::int64_t const number :
         {parts.groups, parts.kernel_height, parts.kernel_width, parts.out_chans, parts.in_chans})
      key = key * radix + static_cast<std::uint64_t>(number);
    return key;
  }
};

/// The figures that all divisions of a view into the same serial parts share.
struct convolution_scene {
  convolution_view const& view;
  std::int64_t serial_out;
  std::int64_t serial_in;
  std::int64_t in_groups;   ///< groups of input channels in a serial part
  std::int64_t out_groups;  ///< groups of output channels in a serial part
  std::int64_t fixed;       ///< cycles that all divisions take
  std::int64_t per_element;
  std::int64_t per_group;
  std::int64_t per_row;
  std::int64_t row_elements;
  bool zeroes_first;   ///< the vertex sets sums to zero in a loop of its own, as vertices do that work by rows
  bool counts_pieces;  ///< the workers' pieces of rows cost much
  std::int64_t workers;
  std::int64_t field;
  std::int64_t reached;
  std::int64_t per_stage;  ///< cycles of a stage of a reduction
  std::int64_t serial;
  std::int64_t input_bytes;  ///< bytes of a field element in a group of channels
  std::int64_t partial_size;
  std::int64_t partials_at_once;
  std::int64_t exchange_rate;  ///< sixteenths of a byte per cycle
  bool sends_inputs_once;
  std::int64_t bus;  ///< tiles that share one
  std::int64_t tiles_per_ipu;

  /// The constant cycles of a vertex (ipu/cycles/), which are enough for a bound. conv_partial_1x1 takes 50, 12 for its
  /// group and 11 for its first input; others take at least `cycles_of_others`.
  static constexpr std::int64_t cycles_of_1x1 = 73, cycles_of_others = 150;
  /// Cycles of a worker before and after its elements, for each group of channels.
  static constexpr std::int64_t worker_cycles_of_1x1 = 18, worker_cycles_of_nx1 = 31, worker_cycles_of_slic = 17;
  /// Cycles of a row beside its elements; conv_partial_slic takes as long as for `slic_row_elements` elements more.
  static constexpr std::int64_t row_cycles = 16, slic_row_cycles = 10, slic_row_elements = 10;
  /// Cycles of a worker in a stage of a reduction.
  static constexpr std::int64_t reduction_cycles = 20;
  /// Bytes of an exchange are counted in such parts of what a tile receives in a cycle, since they are whole numbers.
  static constexpr std::int64_t exchange_parts = 16;

  /// The figures that all divisions share which differ in input channels only; bytes are for one group of them.
  struct row {
    part_counts part;
    std::int64_t tiles;        ///< tiles among which input channels and field are divided
    std::int64_t depth;        ///< depth of the reduction over the kernel's parts
    std::int64_t products;     ///< products of groups of channels and kernel elements
    std::int64_t input_bytes;  ///< bytes of inputs for a field element
    std::int64_t weight_bytes;
    std::int64_t partials;   ///< partial sums of a field element
    std::int64_t receivers;  ///< tiles that receive the same inputs at the same time
  };
  [[nodiscard]] static constexpr convolution_scene of(convolution_problem const& problem, convolution_view const& view,
                                                      std::int64_t serial_out, std::int64_t serial_in) noexcept {
    convolution_partition partition;
    partition.serial_out_chan_split = static_cast<int>(serial_out);
    partition.serial_in_chan_split = static_cast<int>(serial_in);
    auto const layout = problem.layout_of(view, partition, problem.target.tiles_per_ipu);
    bool const sends_once = serial_out > 1 && serial_in == 1;
    bool const zeroes_first =
        view.vertex == convolution_vertex::conv_partial_nx1 || view.vertex == convolution_vertex::horizontal_mac;
    bool const is_slic = view.vertex == convolution_vertex::conv_partial_slic;
    convolution_scene s{
        .view = view,
        .serial_out = serial_out,
        .serial_in = serial_in,
        .in_groups = ceil_div(view.in_chan_groups, serial_in),
        .out_groups = ceil_div(view.out_chan_groups, serial_out),
        .fixed = layout.weights + layout.output + (sends_once ? 0 : layout.inputs),
        .per_element = view.cycles_per_element(problem.target, problem.shape.operand()),
        .per_group = 0,
        .per_row = is_slic
                       ? slic_row_cycles + slic_row_elements * view.cycles_per_element(problem.target, dtype::float16)
                   : zeroes_first ? row_cycles
                                  : 0,
        .row_elements = view.reached(view.field).width,
        .zeroes_first = zeroes_first,
        .counts_pieces = is_slic,
        .workers = problem.target.num_worker_contexts,
        .field = view.batch * view.field.elements(),
        .reached = view.batch * view.reached(view.field).elements(),
        .per_stage = sync_cycles(problem.target) + reduction_cycles * problem.target.num_worker_contexts,
        .serial = serial_out * serial_in,
        .input_bytes =
            std::int64_t{view.conv_groups_per_group} * view.in_chans_per_group * size_of(problem.shape.input),
        .partial_size = size_of(view.partials),
        .partials_at_once = problem.target.vector_width(view.partials),
        .exchange_rate =
            larger(1, static_cast<std::int64_t>(problem.target.exchange_bytes_per_cycle * exchange_parts + 0.5F)),
        .sends_inputs_once = sends_once,
        .bus = problem.target.tiles_per_shared_exchange_bus,
        .tiles_per_ipu = problem.target.tiles_per_ipu};
    // Syncs, and the vertex's constant cycles. Those of nx1 are left out, since its first row is counted in the group.
    if (view.vertex != convolution_vertex::conv_partial_nx1) {
      bool const lays_out = layout.weights > 0 || (!sends_once && layout.inputs > 0);
      s.fixed += sync_cycles(problem.target) * ((lays_out ? 1 : 0) + (layout.output > 0 ? 1 : 0));
      s.fixed += view.vertex == convolution_vertex::conv_partial_1x1 ? cycles_of_1x1 : cycles_of_others;
    }
    if (is_slic) {
      s.per_group = worker_cycles_of_slic * problem.target.num_worker_contexts;
    } else if (view.conv_units > 0) {
      // Cycles of loading the units' weights, and of a worker before and after its elements.
      bool const is_1x1 = view.vertex == convolution_vertex::conv_partial_1x1;
      s.per_group = std::int64_t{view.conv_units} * problem.target.weight_bytes_per_conv_unit(problem.shape.operand()) /
                        problem.target.coeff_load_bytes_per_cycle(problem.use_128bit_conv_unit_load) +
                    problem.target.num_worker_contexts * (is_1x1 ? worker_cycles_of_1x1 : worker_cycles_of_nx1);
    }
    return s;
  }

  [[nodiscard]] constexpr row row_of(part_counts const& d) const noexcept {
    std::int64_t const groups = (view.conv_groups + d.groups - 1) / d.groups;
    std::int64_t const outs = (out_groups + d.out_chans - 1) / d.out_chans;
    std::int64_t const kernel = (view.kernel.height + d.kernel_height - 1) / d.kernel_height *
                                ((view.kernel.width + d.kernel_width - 1) / d.kernel_width);
    std::int64_t const in_bytes = groups * input_bytes;
    std::int64_t const out_chans = outs * view.out_chans_per_group;
    return {.part = d,
            .tiles = tiles_per_ipu / (d.groups * d.kernel_height * d.kernel_width * d.out_chans),
            .depth = d.kernel_height * d.kernel_width,
            .products = groups * kernel * outs,
            .input_bytes = in_bytes,
            .weight_bytes = kernel * view.filter_height * view.filter_width * in_bytes * out_chans,
            .partials = groups * view.conv_groups_per_group * out_chans,
            .receivers = d.out_chans % bus == 0 ? bus : 1};
  }

  /// True if the vertex can work on a tile's part of the channels.
  [[nodiscard]] constexpr bool takes(row const& r, std::int64_t in_chans) const noexcept {
    return view.takes(ceil_div(in_groups, in_chans), ceil_div(out_groups, r.part.out_chans));
  }
  /// Pieces of rows of the worker that has most, times the workers: whole rows, or a piece more.
  [[nodiscard]] static constexpr std::int64_t row_pieces(std::int64_t workers, std::int64_t rows,
                                                         std::int64_t width) noexcept {
    if (rows % workers == 0) return rows;
    std::int64_t const elements = (rows * width + workers - 1) / workers;
    return workers * ((elements + width - 2) / width + 1);
  }
};

}  // namespace stagecraft::tiles
