// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the vertex for depthwise convolutions: poplin's ConvPartialVerticalMac.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// A convolution of a tile's part in which each channel has its own kernel: `groups_per_vector` channels at once, each
/// with one input and one output channel, in float16. Workers add up partial sums of their own, which are then summed.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartialVerticalMac*CycleEstimate; how the work is
/// cut: estimateConvPartialVerticalMacInnerLoopCycles.
struct vertical_mac {
  dtype partials = dtype::float16;  ///< float32 or float16; inputs are float16
  std::int64_t outputs = 0;         ///< batch x rows x columns of outputs
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  int groups_per_vector = 4;     ///< channels at once: 4, 8 or 16; float32 partial sums have 4
  std::int64_t conv_groups = 1;  ///< channels / groups_per_vector
  std::int64_t in_chan_groups = 1;

  /// Cycles of adding up `size` products in each of `channels` channels.
  [[nodiscard]] static constexpr std::int64_t dot_product_cycles(std::int64_t size, int channels) noexcept {
    return 3 + (channels >= 8 ? 3 * (size - 1) * (channels / 8) : 2 * (size - 1) * (channels / 4));
  }

  /// Tile cycles of one pass of all workers.
  [[nodiscard]] constexpr std::int64_t inner_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    if (outputs == 0) return workers * pieces_cycles(0, 0, 0);
    std::int64_t const cuts = workers / detail::greatest_common_divisor(workers, outputs);
    std::int64_t const parts = detail::ceil_div(outputs * cuts, workers);
    return workers * pieces_cycles(kernel_height * (parts / cuts), kernel_height * (parts % cuts),
                                   detail::ceil_div(kernel_width, cuts));
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    bool const is_float = partials != dtype::float16;
    std::int64_t const elements = outputs * groups_per_vector;
    std::int64_t const zeroing = 4 + detail::ceil_div(elements, is_float ? 2 : 4);
    std::int64_t const per_vector = (is_float ? 9 : 7) + (is_float ? 2 : 1) * (workers - 1);
    std::int64_t const reduction =
        (is_float ? 9 : 10) + per_vector * detail::ceil_div(elements, workers) / groups_per_vector;
    return 61 + 14 + (is_float ? 26 : 25) +
           conv_groups * (zeroing + 32 + in_chan_groups * (24 + inner_cycles(target)) + reduction);
  }

  /// As if no kernel element fell outside the input.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return outputs * kernel_height * kernel_width * groups_per_vector * conv_groups * in_chan_groups;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }

 private:
  /// A worker's cycles for pieces of the whole kernel width, and for others of `part_width`.
  [[nodiscard]] constexpr std::int64_t pieces_cycles(std::int64_t whole, std::int64_t parts,
                                                     std::int64_t part_width) const noexcept {
    bool const is_float = partials != dtype::float16;
    if (groups_per_vector >= 8 && !is_float) {
      auto const of_piece = [](std::int64_t size) { return 7 + 15 + dot_product_cycles(size, 8); };
      std::int64_t const halves = groups_per_vector == 8 ? 1 : 2;
      return (halves == 1 ? 13 : 25) + halves * (whole * of_piece(kernel_width) + parts * of_piece(part_width));
    }
    auto const of_piece = [&](std::int64_t size) {
      return 7 + (is_float ? 5 : 3) + dot_product_cycles(size, groups_per_vector);
    };
    return (is_float ? 19 : 18) + whole * of_piece(kernel_width) + parts * of_piece(part_width);
  }
};

}  // namespace stagecraft::vertices
