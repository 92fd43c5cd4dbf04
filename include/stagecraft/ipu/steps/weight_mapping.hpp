// SPDX-License-Identifier: BSD-3-Clause
// Where the weights of a convolution or matrix product lie: on the tiles that multiply them, as poplin::createWeights
// and createMatMulInputRHS have it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_shape.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The mapping of a weight by a plan. Each tile has the slices that it multiplies, one for each serial part, in the
/// order in which its vertex reads them: channels in whole groups, of which the last may be filled up with zeros. Where
/// several tiles multiply the same slice, each has an even share of it (detail::convolution_division::kernel_share).
/// All tiles of the plan have as many places as the first.
struct weight_mapping {
  convolution_shape shape;  ///< of the convolution that the plan is for
  convolution_plan plan;
  convolution_strides strides;  ///< of the weight's elements
  std::int64_t elements = 0;
  std::int64_t elements_per_tile = 0;  ///< places, of which some may be filled up
  std::int64_t tiles = 0;

  constexpr weight_mapping(convolution_shape const& of, convolution_plan const& by, convolution_strides const& places,
                           ipu_target const& target) noexcept
      : shape(of), plan(by), strides(places), elements(of.weights()), tiles(by.tiles_used()) {
    convolution_division const division(shape, plan, target, false);
    elements_per_tile = division.kernel_slices() * division.kernel_share();
  }

  /// Places on a tile, if there is only one of `parts` parts of the weight.
  [[nodiscard]] constexpr std::int64_t part_of_tile(std::int64_t parts) const noexcept {
    using detail::convolution_division;
    return ceil_div(ceil_div(elements_per_tile, parts), convolution_division::kernel_grain) *
           convolution_division::kernel_grain;
  }
  /// Whether a convolution finds its weights where and as it multiplies them.
  [[nodiscard]] constexpr bool serves(convolution_shape const& of, convolution_plan const& by,
                                      convolution_strides const& places) const noexcept {
    return shape == of && strides.weights == places.weights && plan == by;
  }
};

}  // namespace stagecraft::tiles
