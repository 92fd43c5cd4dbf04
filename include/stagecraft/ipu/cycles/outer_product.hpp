// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the vertex for products of a column with a row: poplin's OuterProduct.
#pragma once

#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Multiplies `width` inputs, each of one channel, with the weights of all output channels: a convolution whose inputs
/// have one channel and whose kernel has one element. A vertex of one worker.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getOuterProductCycleEstimate.
struct outer_product {
  dtype type = dtype::float16;  ///< of inputs, weights and outputs
  std::int64_t width = 0;
  std::int64_t chan_groups = 1;
  int chans_per_group = 1;

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles() const noexcept {
    std::int64_t const channels = chans_per_group;
    if (type != dtype::float16) {
      bool const is_fast = channels >= 6 && channels % 2 == 0 && channels / 2 + 1 < 512;
      return 25 + chan_groups * (11 + width * (is_fast ? 6 + (channels - 6) / 2 : 10 + channels * 2));
    }
    bool const is_fast = channels >= 12 && channels % 4 == 0 && channels / 4 + 1 < 512;
    return 25 + chan_groups * (10 + width * (is_fast ? 6 + (channels - 12) / 4 : 10 + channels * 5 / 2));
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return width * chan_groups * chans_per_group; }
};

}  // namespace stagecraft::vertices
