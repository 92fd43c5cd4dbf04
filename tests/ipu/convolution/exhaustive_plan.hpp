// SPDX-License-Identifier: BSD-3-Clause
// The best plan of all, by trying every division: what the planner's search is compared with. For tests.
#pragma once

#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <cstdint>

namespace plan_tests {

namespace sc = stagecraft;

/// Every number of parts of every dimension that makes a difference, in every combination that the tiles suffice for,
/// of every view; serially up to `most_serial_parts` of out channels times in channels. 0 cycles: no plan fits.
inline sc::tiles::convolution_plan exhaustive_plan(sc::convolution_shape const& shape, sc::ipu_target const& target,
                                                   sc::poplar_options const& options = {}, int most_serial_parts = 1) {
  using sc::detail::next_split;
  sc::detail::convolution_problem const problem{
      .shape = shape, .target = target, .use_128bit_conv_unit_load = options.use_128bit_conv_unit_load};
  auto const partials = shape.operand() == sc::dtype::float16 ? options.partials_type : sc::dtype::float32;
  sc::detail::convolution_views const views(shape, target, partials);
  auto const allowed =
      static_cast<std::int64_t>(static_cast<double>(options.available_memory_proportion) * target.bytes_per_tile);
  sc::tiles::convolution_plan best;
  std::int64_t least = INT64_MAX;
  std::int64_t const tiles = target.tiles_per_ipu;
  auto const number = [](std::int64_t n) { return static_cast<int>(n); };
  for (int v = 0; v < views.count; ++v) {
    auto const& view = views.views[v];
    for (int so = 1; so <= most_serial_parts && so <= view.out_chan_groups; ++so)
      for (int si = 1; so * si <= most_serial_parts && si <= view.in_chan_groups; ++si) {
        auto const outs = sc::detail::ceil_div(view.out_chan_groups, so);
        auto const ins = sc::detail::ceil_div(view.in_chan_groups, si);
        for (std::int64_t g = 1; g <= tiles; g = next_split(view.conv_groups, g))
          for (std::int64_t h = 1; g * h <= tiles; h = next_split(view.kernel.height, h))
            for (std::int64_t w = 1; g * h * w <= tiles; w = next_split(view.kernel.width, w))
              for (std::int64_t o = 1; g * h * w * o <= tiles; o = next_split(outs, o))
                for (std::int64_t i = 1; g * h * w * o * i <= tiles; i = next_split(ins, i)) {
                  if (!view.takes(sc::detail::ceil_div(ins, i), sc::detail::ceil_div(outs, o))) continue;
                  auto const left = tiles / (g * h * w * o * i);
                  for (std::int64_t b = 1; b <= left; b = next_split(view.batch, b))
                    for (std::int64_t y = 1; b * y <= left; y = next_split(view.field.height, y))
                      for (std::int64_t x = 1; b * y * x <= left; x = next_split(view.field.width, x)) {
                        auto const plan = problem.plan_of(view,
                                                          {.conv_group_split = number(g),
                                                           .batch_split = number(b),
                                                           .field_split = {.height = y, .width = x},
                                                           .kernel_split = {.height = h, .width = w},
                                                           .out_chan_split = number(o),
                                                           .in_chan_split = number(i),
                                                           .serial_out_chan_split = so,
                                                           .serial_in_chan_split = si},
                                                          allowed);
                        if (plan.temporary_bytes > allowed || plan.cycles.total() >= least) continue;
                        best = plan;
                        least = plan.cycles.total();
                      }
                }
      }
  }
  return best;
}

}  // namespace plan_tests
