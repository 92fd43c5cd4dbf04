// SPDX-License-Identifier: BSD-3-Clause
// Cycles of reductions whose inputs lie on several tiles, and the better of two ways to do them. Level 3.
#pragma once

#include <stagecraft/ipu/exchange.hpp>
#include <stagecraft/ipu/integers.hpp>
#include <stagecraft/ipu/ipu_target.hpp>
#include <cstdint>

namespace stagecraft {

/// Reduces, for each of `elements` results, at most `partials_per_element` inputs that lie on different tiles. Either
/// the tiles where the results belong receive the inputs, or all tiles receive some and pass their results on.
///
/// Source: poplibs, lib/popops/reduction/ReductionPlan.cpp, estimateReduceAtDstCost and estimateBalancedReduceCost. The
/// former leaves out that all inputs of an element have to be received; here it does not.
struct reduction_over_tiles {
  dtype partials = dtype::float32;
  dtype output = dtype::float32;
  std::int64_t elements = 0;
  std::int64_t partials_per_element = 1;
  std::int64_t elements_of_a_tile = 0;  ///< results that belong to the tile with most of them

  /// Exchange, sync, reduction: no tile has more to do than the one with most results.
  [[nodiscard]] constexpr std::int64_t at_destination_cycles(ipu_target const& target) const noexcept {
    return exchange_cycles(target, elements_of_a_tile * partials_per_element * size_of(partials)) +
           sync_cycles(target) + reduction_cycles(target, elements_of_a_tile);
  }
  /// Exchange, sync, reduction of eights of elements that are spread over `tiles` tiles, exchange, sync.
  [[nodiscard]] constexpr std::int64_t balanced_cycles(ipu_target const& target, int tiles) const noexcept {
    std::int64_t const grain = 8;
    std::int64_t const each = detail::ceil_div(detail::ceil_div(elements, grain), tiles) * grain;
    return exchange_cycles(target, each * partials_per_element * size_of(partials)) + sync_cycles(target) +
           reduction_cycles(target, each) + exchange_cycles(target, elements_of_a_tile * size_of(output)) +
           sync_cycles(target);
  }
  [[nodiscard]] constexpr bool is_better_at_destination(ipu_target const& target, int tiles) const noexcept {
    return at_destination_cycles(target) < balanced_cycles(target, tiles);
  }

 private:
  [[nodiscard]] constexpr std::int64_t reduction_cycles(ipu_target const& target, std::int64_t count) const noexcept {
    return partials_per_element * detail::ceil_div(count, target.vector_width(partials));
  }
};

}  // namespace stagecraft
