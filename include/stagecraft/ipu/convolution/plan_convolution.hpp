// SPDX-License-Identifier: BSD-3-Clause
// Finds the best plan for a convolution or matrix product on one IPU, in constant evaluation: the counterpart of
// poplin's planner.
#pragma once

#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_scene.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The search for a plan. For each way to compute the convolution (`convolution_views`, most promising first), it goes
/// over divisions of channels, kernel and groups, in steps of about a fifth. The field and the batch are cut among all
/// tiles that are left, since that costs nothing elsewhere. A bound, which knows all but the shape of a tile's field,
/// tells which divisions are worth an estimate. In the end, the neighbourhood of the best is searched in the smallest
/// steps. Serial parts are tried only where memory forbade something better.
///
/// Measured against trying everything (tests/ipu/convolution/exhaustive_plan.hpp): ResNet-50's plans take at most 1.3
/// percent more cycles than the best ones, 0.05 percent in the mean; others, on machines of any size and with little
/// memory, up to 7 percent, and less than 1 in the mean.
struct convolution_search {
  convolution_problem const& problem;
  std::int64_t bytes_allowed;
  bool wants_least_memory = false;  ///< cycles decide only between plans that need the same memory
  convolution_plan best = {};
  std::int64_t best_cycles = INT64_MAX;
  int current_view = 0;
  /// The part counts of the current view that were estimated without serial parts.
  tried_part_counts tried{problem.target.tiles_per_ipu};
  /// The best plan of each view.
  convolution_partition partitions[convolution_views::capacity] = {};
  std::int64_t cycles_of_view[convolution_views::capacity] = {};
  bool has_plan = false;
  std::int64_t least_forbidden = INT64_MAX;  ///< least cycles of a plan that did not fit
  std::int64_t least_bytes = INT64_MAX;      ///< least temporary bytes of all divisions that were looked at

  using scene = convolution_scene;
  using row = convolution_scene::row;

  /// The largest part shrinks at least to these percentages from one part count to the next. Steps are larger where
  /// there is more to look at, so that a search stays within the limits of compilers; `refine` then searches around the
  /// best plan, and tests/ipu/convolution/exhaustive_plan.hpp measures what is missed.
  struct search_steps {
    int groups, kernel_height, kernel_width, channels;
  };
  static constexpr search_steps small_steps{80, 70, 50, 80}, middle_steps{80, 70, 50, 60}, large_steps{80, 50, 30, 40};
  static constexpr int most_serial_parts = 256;

  constexpr void search(convolution_view const& view, std::int64_t serial_out, std::int64_t serial_in) {
    if (serial_out > view.out_chan_groups || serial_in > view.in_chan_groups) return;
    scene const s = scene::of(problem, view, serial_out, serial_in);
    // A division has all products on all tiles, and at least one product for each worker.
    std::int64_t const products = view.kernel.elements() * view.conv_groups * s.in_groups * s.out_groups;
    std::int64_t const elements = larger(s.workers, products * s.reached / problem.target.tiles_per_ipu);
    if (!wants_least_memory && s.serial * (s.fixed + s.per_group + s.per_element * elements) >= best_cycles) return;
    part_counts_short_list shortlist;
    std::int64_t const tiles = problem.target.tiles_per_ipu;
    bool const takes_one = !view.takes(2, 2);
    std::int64_t const least_outs = takes_one ? s.out_groups : 1, least_ins = takes_one ? s.in_groups : 1;
    bool const is_serial = serial_out * serial_in > 1;
    search_steps const& step = !is_serial ? small_steps : has_plan && !wants_least_memory ? middle_steps : large_steps;
    for (std::int64_t g = 1; g <= tiles; g = next_split(view.conv_groups, g, step.groups))
      for (std::int64_t h = 1; g * h <= tiles; h = next_split(view.kernel.height, h, step.kernel_height))
        for (std::int64_t w = 1; g * h * w <= tiles; w = next_split(view.kernel.width, w, step.kernel_width))
          for (std::int64_t o = least_outs; g * h * w * o <= tiles; o = next_split(s.out_groups, o, step.channels)) {
            row const r = s.row_of({g, h, w, o});
            for (std::int64_t i = least_ins; i <= r.tiles; i = next_split(s.in_groups, i, step.channels))
              list(shortlist, s, r, i);
            // Part counts that leave few tiles for the field.
            for (std::int64_t f = 1; f <= 4 && f <= r.tiles; ++f) {
              if (r.tiles / f < s.in_groups) list(shortlist, s, r, fewest_parts(s.in_groups, r.tiles / f));
              if (w == 1 && view.kernel.width > 8)  // the gradient of a kernel
                list(shortlist, s, s.row_of({g, h, fewest_parts(view.kernel.width, r.tiles / f), o}), 1);
            }
          }
    for (int k = 0; k < shortlist.count; ++k) {
      if (!may_beat(shortlist.bounds[k])) continue;
      if (!is_serial) tried.add(current_view, shortlist.parts[k]);
      estimate(s, shortlist.parts[k]);
    }
  }

  /// Searches around the best plan of the view until there is no better one.
  constexpr void refine(convolution_view const& view) {
    convolution_partition const& best_of_view = partitions[current_view];
    scene const s = scene::of(problem, view, best_of_view.serial_out_chan_split, best_of_view.serial_in_chan_split);
    bool improved = true;
    for (int round = 0; improved && round < 4; ++round) {
      improved = false;
      part_counts const from{best_of_view.conv_group_split, best_of_view.kernel_split.height,
                             best_of_view.kernel_split.width, best_of_view.out_chan_split, best_of_view.in_chan_split};
      neighbouring_splits const ins(s.in_groups, from.in_chans, 3);
      for (std::int64_t const o : neighbouring_splits(s.out_groups, from.out_chans, 3)) {
        row const r = s.row_of({from.groups, from.kernel_height, from.kernel_width, o});
        for (std::int64_t const i : ins)
          if (o != from.out_chans || i != from.in_chans) improved = try_division(s, r, i) || improved;
      }
      for (int o = 1; o <= 4; o *= 2) {  // halves
        std::int64_t const outs = fewest_parts(s.out_groups, ceil_div(from.out_chans * o, 2));
        row const r = s.row_of({from.groups, from.kernel_height, from.kernel_width, outs});
        for (int i = 1; i <= 4; i *= 2) {
          std::int64_t const in = fewest_parts(s.in_groups, ceil_div(from.in_chans * i, 2));
          if (outs != from.out_chans || in != from.in_chans) improved = try_division(s, r, in) || improved;
        }
      }
      struct {
        std::int64_t part_counts::* parts;
        std::int64_t size;
      } const others[]{{&part_counts::kernel_height, view.kernel.height},
                       {&part_counts::kernel_width, view.kernel.width},
                       {&part_counts::groups, view.conv_groups}};
      for (auto const& [parts, size] : others)
        for (std::int64_t const number : neighbouring_splits(size, from.*parts, 2)) {
          part_counts other = from;
          other.*parts = number;
          if (number != from.*parts) improved = try_division(s, s.row_of(other), from.in_chans) || improved;
        }
    }
  }

 private:
  constexpr void list(part_counts_short_list& shortlist, scene const& s, row const& r, std::int64_t in_chans) {
    if (!s.takes(r, in_chans)) return;
    plan_bound const b = bound_of(s, r, in_chans);
    if (!may_beat(b) || !fits(b)) return;
    part_counts parts = r.part;
    parts.in_chans = in_chans;
    shortlist.insert(b, parts, wants_least_memory);
  }
  constexpr bool try_division(scene const& s, row const& r, std::int64_t in_chans) {
    if (in_chans > r.tiles || !s.takes(r, in_chans)) return false;
    plan_bound const b = bound_of(s, r, in_chans);
    if (!may_beat(b) || !fits(b)) return false;
    part_counts parts = r.part;
    parts.in_chans = in_chans;
    if (s.serial == 1) {
      if (tried.contains(current_view, parts)) return false;
      tried.add(current_view, parts);
    }
    return estimate(s, parts);
  }
  [[nodiscard]] constexpr bool may_beat(plan_bound const& b) const noexcept {
    return wants_least_memory ? !has_plan || b.bytes < best.temporary_bytes : b.cycles < best_cycles;
  }
  constexpr bool fits(plan_bound const& b) noexcept {
    if (b.bytes < least_bytes) least_bytes = b.bytes;
    if (b.bytes <= bytes_allowed) return true;
    least_forbidden = smaller(least_forbidden, b.cycles);
    return false;
  }

  [[nodiscard]] constexpr plan_bound bound_of(scene const& s, row const& r, std::int64_t in_chans) const noexcept {
    std::int64_t const tiles = r.tiles / in_chans;
    std::int64_t const ins = (s.in_groups + in_chans - 1) / in_chans;
    std::int64_t const reached = (s.reached + tiles - 1) / tiles;
    std::int64_t of_product = s.per_element * (reached + s.workers - 1 - (reached - 1) % s.workers) + s.per_group;
    if (s.per_row > 0) of_product += s.per_row * ((reached + s.row_elements - 1) / s.row_elements);
    std::int64_t cycles = s.fixed + ins * r.products * of_product;
    if (!wants_least_memory && cycles * s.serial >= best_cycles) return {.cycles = cycles * s.serial};
    std::int64_t const field = (s.field + tiles - 1) / tiles;
    std::int64_t const input_bytes = reached * ins * r.input_bytes;
    std::int64_t const weight_bytes = ins * r.weight_bytes;
    std::int64_t const partials = field * r.partials;
    std::int64_t exchanged = s.sends_inputs_once ? 0 : (input_bytes - input_bytes / r.part.out_chans) / r.receivers;
    if (field < s.field)  // in 2 tiles at least, and about as many as there are
      exchanged += tiles < 8 ? weight_bytes / 2 : weight_bytes * 3 / 4;
    if (s.zeroes_first) cycles += partials / s.partials_at_once;
    std::int64_t const depth = r.depth * in_chans;
    if (depth > 1) {
      exchanged += (partials - partials / depth) * s.partial_size;
      cycles += partials / s.partials_at_once + s.per_stage * convolution_reduction::stages_of(depth);
    }
    cycles += exchanged * scene::exchange_parts / s.exchange_rate;
    return {.cycles = cycles * s.serial, .bytes = input_bytes + weight_bytes + partials * s.partial_size};
  }

  /// Estimates the best two ways to cut the field, as far as the number of elements, of rows and of inputs tells.
  constexpr bool estimate(scene const& s, part_counts const& d) {
    convolution_view const& view = s.view;
    std::int64_t const tiles = problem.target.tiles_per_ipu / d.product();
    convolution_partition partition{.conv_group_split = static_cast<int>(d.groups),
                                    .field_split = {},
                                    .kernel_split = {.height = d.kernel_height, .width = d.kernel_width},
                                    .out_chan_split = static_cast<int>(d.out_chans),
                                    .in_chan_split = static_cast<int>(d.in_chans),
                                    .serial_out_chan_split = static_cast<int>(s.serial_out),
                                    .serial_in_chan_split = static_cast<int>(s.serial_in)};
    std::int64_t const ins = ceil_div(s.in_groups, d.in_chans);
    std::int64_t const outs = ceil_div(s.out_groups, d.out_chans);
    field_size const kernel{.height = ceil_div(view.kernel.height, d.kernel_height),
                            .width = ceil_div(view.kernel.width, d.kernel_width)};
    std::int64_t const products = ins * outs * kernel.elements();
    std::int64_t const input_weight = ins * view.in_chans_per_group * size_of(problem.shape.input);
    struct cut {
      std::int64_t measure = INT64_MAX, batch = 1, height = 1, width = 1;
    };
    cut first, second;
    for (std::int64_t b = 1; b <= tiles; b = next_split(view.batch, b))
      for (std::int64_t h = 1; b * h <= tiles; h = next_split(view.field.height, h)) {
        std::int64_t const w = fewest_parts(view.field.width, tiles / (b * h));
        field_size const field{.height = ceil_div(view.field.height, h), .width = ceil_div(view.field.width, w)};
        field_size const reached = view.reached(field);
        std::int64_t const batch = ceil_div(view.batch, b);
        // Workers have whole elements each, and cutting a row costs something.
        std::int64_t const elements = batch * reached.elements();
        std::int64_t const idle = s.workers - 1 - (elements - 1) % s.workers;
        std::int64_t const rows = s.counts_pieces ? scene::row_pieces(s.workers, batch * reached.height, reached.width)
                                                  : batch * reached.height;
        std::int64_t measure = products * (s.per_element * (elements + idle) + s.per_row * rows) + (idle > 0 ? 1 : 0);
        if (measure >= second.measure) continue;
        measure += input_weight * batch * view.inputs_of(field, kernel).elements() / 4;
        cut const found{measure, b, h, w};
        if (measure < first.measure) {
          second = first;
          first = found;
        } else if (measure < second.measure) {
          second = found;
        }
      }
    bool is_better = false;
    for (int k = 0; k < 2; ++k) {
      cut const& c = k == 0 ? first : second;
      if (k == 1 && c.measure > first.measure + first.measure / 16) break;
      partition.batch_split = static_cast<int>(c.batch);
      partition.field_split = {.height = c.height, .width = c.width};
      is_better = consider(problem.plan_of(view, partition, wants_least_memory ? 0 : bytes_allowed)) || is_better;
    }
    return is_better;
  }

 public:
  /// Keeps the plan if it is better and allowed, and says so.
  constexpr bool consider(convolution_plan const& plan) {
    std::int64_t const cycles = plan.cycles.total();
    if (plan.temporary_bytes > bytes_allowed) {
      least_forbidden = smaller(least_forbidden, cycles);
      return false;
    }
    std::int64_t& of_view = cycles_of_view[current_view];
    if (of_view == 0 || cycles < of_view) {
      of_view = cycles;
      partitions[current_view] = plan.partition;
    }
    if (!may_beat({cycles, plan.temporary_bytes})) {
      bool const is_as_small = wants_least_memory && plan.temporary_bytes == best.temporary_bytes;
      if (!is_as_small || cycles >= best_cycles) return false;
    }
    best = plan;
    best_cycles = cycles;
    has_plan = true;
    return true;
  }

  /// Searches all views. Serial parts are tried only where memory requires them, and as long as more of them help.
  constexpr void search_all(convolution_views const& views) {
    for (int i = 0; i < views.count; ++i) search_view(views, i, 1, 1);
    if (least_forbidden < best_cycles || wants_least_memory) {
      int in_vain = 0;
      for (int parts = 2; parts <= most_serial_parts && in_vain < 2; parts *= 2) {
        bool const had_plan = has_plan;
        auto const before = best_cycles + best.temporary_bytes;
        for (int i = 0; i < views.count; ++i)
          for (int out = parts; out >= 1; out /= 2) search_view(views, i, out, parts / out);
        in_vain = had_plan && best_cycles + best.temporary_bytes == before ? in_vain + 1 : 0;
      }
      search_other_serial_splits(views);
    }
    for (int i = 0; has_plan && i < views.count; ++i) {
      if (cycles_of_view[i] == 0 || cycles_of_view[i] > best_cycles * 9 / 8) continue;
      current_view = i;
      refine(views.views[i]);
    }
  }

 private:
  constexpr void search_view(convolution_views const& views, int i, int serial_out, int serial_in) {
    if (!wants_least_memory && views.least_cycles[i] >= best_cycles) return;
    current_view = i;
    search(views.views[i], serial_out, serial_in);
  }
  /// Tries from half to two and a half times the serial parts of the best plan.
  constexpr void search_other_serial_splits(convolution_views const& views) {
    int view = -1;
    for (int i = 0; i < views.count; ++i)
      if (has_plan && cycles_of_view[i] == best_cycles && partitions[i] == best.partition) view = i;
    if (view < 0) return;
    std::int64_t const out = best.partition.serial_out_chan_split;
    std::int64_t const in = best.partition.serial_in_chan_split;
    std::int64_t const out_groups = views.views[view].out_chan_groups;
    std::int64_t const in_groups = views.views[view].in_chan_groups;
    for (int eighths = 4; eighths <= 20; ++eighths) {
      if (eighths == 8) continue;
      if (out > 1)
        search_view(views, view, static_cast<int>(fewest_parts(out_groups, ceil_div(out * eighths, 8))),
                    static_cast<int>(in));
      if (in > 1)
        search_view(views, view, static_cast<int>(out),
                    static_cast<int>(fewest_parts(in_groups, ceil_div(in * eighths, 8))));
    }
  }
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// The plan with fewest cycles for a convolution or matrix product on all tiles of `target`, whose temporary memory is
/// at most `options.available_memory_proportion` of a tile's. If there is none, the bound is doubled until it is two
/// whole tiles, then given up. A proportion of 0 asks for the plan with least temporary memory.
///
/// Usable in constant evaluation, within the limits that compilers set by default; nothing allocates.
///
/// Source: poplibs, lib/poplin/ConvPlan.cpp. What it may choose from is less: one IPU, operands swapped only where the
/// field is flat, groups of channels as large as the units.
[[nodiscard]] constexpr tiles::convolution_plan plan_convolution(convolution_shape const& shape,
                                                                 ipu_target const& target,
                                                                 poplar_options const& options = {}) {
  detail::convolution_problem const problem{
      .shape = shape, .target = target, .use_128bit_conv_unit_load = options.use_128bit_conv_unit_load};
  dtype const partials = shape.operand() == dtype::float16 ? options.partials_type : dtype::float32;
  detail::convolution_views const views(shape, target, partials);
  std::int64_t const tile = target.bytes_per_tile;
  bool const wants_least_memory = options.available_memory_proportion <= 0;
  std::int64_t allowed = detail::larger(
      1,
      static_cast<std::int64_t>(static_cast<double>(options.available_memory_proportion) * static_cast<double>(tile)));
  if (wants_least_memory) allowed = INT64_MAX;
  for (;;) {
    detail::convolution_search search{
        .problem = problem, .bytes_allowed = allowed, .wants_least_memory = wants_least_memory};
    search.search_all(views);
    if (search.has_plan) {
      search.best.macs = shape.macs();
      if (!wants_least_memory)
        search.best.memory_bound_percent =
            allowed == INT64_MAX ? -1 : static_cast<int>((100 * allowed + tile / 2) / tile);
      return search.best;
    }
    if (allowed == INT64_MAX) return {};
    // Bounds below what every division takes need not be tried.
    do allowed = allowed >= 2 * tile ? INT64_MAX : detail::smaller(2 * allowed, 2 * tile);
    while (allowed < search.least_bytes && allowed < 2 * tile);
  }
}

}  // namespace stagecraft
