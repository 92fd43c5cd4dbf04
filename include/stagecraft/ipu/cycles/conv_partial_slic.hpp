// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the vertex for convolutions of few channels: poplin's ConvPartial1xNSLIC.
#pragma once

#include <stagecraft/ipu/cycles/field_share.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// A convolution of a tile's part of float16 inputs, on the units for matrix products in another mode (SLIC): they
/// slide over a row, 4 columns of the kernel at once, with 4 channels by 4, two groups of the convolution of 2 by 2, or
/// four of 1 by 1. Half of the units, 8, see the inputs twice. The first of the kernel's blocks sets partial sums to
/// zero.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartialSlicSupervisor{WeightLoad, OuterLoop,
/// InnerLoop}CycleEstimate. As there, weights count as loaded once for all groups of the convolution.
struct conv_partial_slic {
  static constexpr int window = 4;    ///< columns of the kernel at once
  static constexpr int channels = 4;  ///< of all groups of the convolution that are computed at once

  dtype partials = dtype::float32;  ///< float32 or float16
  int conv_units = 8;               ///< 8, or 16 for float16 partial sums
  int conv_groups_at_once = 1;      ///< 1, 2 or 4
  std::int64_t field_rows = 0;      ///< batch x rows of outputs
  std::int64_t row_elements = 0;    ///< outputs in a row
  std::int64_t conv_groups = 1;     ///< in units of conv_groups_at_once
  std::int64_t kernel_blocks = 1;   ///< kernel rows x (kernel columns / window, rounded up)
  int stride = 1;                   ///< of outputs along a row: 1 or 2

  /// Half partial sums of 8 units have a vertex of their own, which merges two of them in the end.
  [[nodiscard]] constexpr bool merges() const noexcept { return conv_units == 8 && partials == dtype::float16; }

  /// Worker cycles for `n` outputs side by side, for all passes over the inputs.
  [[nodiscard]] constexpr std::int64_t piece_cycles(std::int64_t n, bool is_first_block) const noexcept {
    bool const is_float = partials != dtype::float16;
    std::int64_t row = 0;
    if (stride == 2)
      row = n < 3 ? (n == 1 ? 13 : 15) : 9 + 2 * n;
    else if (n >= (merges() ? 6 : 5))
      row = 10 + n + (merges() && !is_first_block ? 3 : 0);
    else if (n == 1)
      row = 13;
    else
      row = is_first_block ? 13 + n : 17 + n;
    if (is_float) --row;
    return (merges() ? 9 : 10) + (is_first_block ? 1 : 0) + (is_float ? 3 : 0) + row * (conv_units == 16 ? 1 : 2);
  }
  /// Tile cycles for one block of the kernel.
  [[nodiscard]] constexpr std::int64_t inner_cycles(ipu_target const& target, bool is_first_block) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t longest = 0;
    for (int worker = 0; worker < workers; ++worker) {
      auto const share = share_of_worker(field_rows, row_elements, workers, worker);
      longest = detail::larger(longest, share.sum([&](std::int64_t n) { return piece_cycles(n, is_first_block); }));
    }
    std::int64_t const merging = merges() && is_first_block ? 2 + 2 * field_rows * row_elements : 0;
    return (17 + longest + (merges() ? 2 : 0)) * workers + merging;
  }
  /// Cycles in which a block's weights are loaded; those of several groups are put in order by the workers.
  [[nodiscard]] constexpr std::int64_t weight_load_cycles(ipu_target const& target) const noexcept {
    if (conv_groups_at_once == 1) return 18 + 16;
    return 21 + (conv_groups_at_once == 4 ? 10 : 12) * target.num_worker_contexts + 16;
  }
  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    std::int64_t const of_block = weight_load_cycles(target) + (merges() ? 15 : 19);
    return (merges() ? 25 : 28) + (merges() ? 12 : 15) * conv_groups + 6 * (conv_groups - 1) + 1 +
           of_block * kernel_blocks + 6 * (kernel_blocks - 1) + 1 +
           conv_groups * (inner_cycles(target, true) + (kernel_blocks - 1) * inner_cycles(target, false));
  }

  /// As if no kernel element fell outside the input, and blocks were full.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_rows * row_elements * conv_groups * kernel_blocks * window * channels * channels / conv_groups_at_once;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }
};

}  // namespace stagecraft::vertices
