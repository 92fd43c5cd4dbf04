// SPDX-License-Identifier: BSD-3-Clause
// Finds the best plan for a convolution or matrix product on one IPU, in constant evaluation: the counterpart of
// poplin's planner.
#pragma once

#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_search.hpp>
#include <stagecraft/ipu/convolution/convolution_shape.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

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
