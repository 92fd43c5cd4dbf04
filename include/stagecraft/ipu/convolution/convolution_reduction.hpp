// SPDX-License-Identifier: BSD-3-Clause
// How the partial sums of a convolution or matrix product are added up when several tiles have some of the same
// outputs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce_partials.hpp>
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

  std::int64_t exchange = 0;  ///< cycles of all stages
  std::int64_t reduce = 0;    ///< likewise
  std::int64_t temporary_bytes = 0;
  std::int64_t outputs = 0;  ///< of a tile, in the end
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

  /// How many stages a reduction of a depth has.
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

}  // namespace stagecraft::tiles
