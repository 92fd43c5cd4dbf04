// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the vertex for convolutions with several kernel elements: poplin's ConvPartialnx1.
#pragma once

#include <stagecraft/ipu/cycles/field_share.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/zero_partials.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// A convolution of a tile's part, on the units for matrix products (AMP), kernel element by kernel element. A unit's
/// weights are `filter_height` rows of the kernel by `in_chans_per_group` input channels, as many as it has
/// (ipu_target::weights_per_conv_unit): few input channels take several rows at once. The partial sums are set to zero
/// first; the vertex does that, too.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartialnx1Supervisor{Inner,Outer}LoopCycleEstimate and
/// getZeroSupervisorVertexCycleEstimate. As in its planner, each kernel element is taken to reach the whole field.
struct conv_partial_nx1 {
  dtype input = dtype::float16;     ///< float32 or float16
  dtype partials = dtype::float32;  ///< float32, or float16 for inputs of float16
  int conv_units = 16;              ///< at most ipu_target::conv_units(input, partials)
  std::int64_t field_rows = 0;      ///< batch x rows of outputs
  std::int64_t row_elements = 0;    ///< outputs in a row
  std::int64_t conv_groups = 1;
  std::int64_t in_chan_groups = 1;  ///< per group of the convolution
  std::int64_t out_chan_groups = 1;
  int in_chans_per_group = 16;
  int out_chans_per_group = 16;
  int filter_height = 1;                   ///< kernel rows at once: 1, 2 or 4
  std::int64_t kernel_outer_elements = 1;  ///< kernel rows / filter_height, rounded up
  std::int64_t kernel_inner_elements = 1;  ///< kernel columns
  bool use_128bit_conv_unit_load = false;

  /// A worker's cycles for its share of the field and one kernel element.
  [[nodiscard]] constexpr std::int64_t worker_cycles(field_share const& share) const noexcept {
    bool const is_float = input != dtype::float16;
    bool const has_float_partials = partials != dtype::float16;
    // Another stride where all units' outputs are not stored at once.
    int const stride = !is_float && conv_units == (has_float_partials ? 8 : 16) ? 1 : 0;
    auto const of_piece = [&](std::int64_t n) -> std::int64_t {
      if (is_float) return n == 1 ? 33 : n == 2 ? 44 : 45 + 8 * (n - 3);
      return n == 1 ? 29 : n == 2 ? 33 + stride : 34 + 4 * (n - 3);
    };
    return 17 + (has_float_partials ? 0 : 1) + share.sum([&](std::int64_t n) { return 3 + of_piece(n) - 9; });
  }

  /// Tile cycles for one group of input channels and one of output channels: all kernel elements.
  [[nodiscard]] constexpr std::int64_t inner_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const passes = out_chans_per_group / conv_units;
    std::int64_t longest = 0;
    std::int64_t shortest = INT64_MAX;
    for (int worker = 0; worker < workers; ++worker) {
      auto const cycles = workers * worker_cycles(share_of_worker(field_rows, row_elements, workers, worker));
      if (cycles > longest) longest = cycles;
      if (cycles < shortest) shortest = cycles;
    }
    std::int64_t const of_element = passes * detail::larger(longest, shortest + 9);
    return kernel_outer_elements *
           (14 + kernel_inner_elements * (12 + passes * (weight_load_cycles(target) + 3) + of_element));
  }

  /// Cycles in which the weights of all units are loaded, for one kernel element.
  [[nodiscard]] constexpr std::int64_t weight_load_cycles(ipu_target const& target) const noexcept {
    int bytes_per_cycle = target.coeff_load_bytes_per_cycle(use_128bit_conv_unit_load);
    if (filter_height == 4 && bytes_per_cycle > 8) bytes_per_cycle /= 2;  // they are shuffled, 64 bits at a time
    int const extra = filter_height == 4 ? 60 : filter_height == 2 ? 46 : filter_height == 1 ? 15 : 20 * filter_height;
    return std::int64_t{conv_units} * target.weight_bytes_per_conv_unit(input) / bytes_per_cycle + extra;
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const retained = 9 + (partials != dtype::float16 ? 9 : 10);  // the first time, nothing is found of it
    return 109 + target.num_worker_contexts * retained +
           conv_groups * (17 * out_chan_groups + 6 * (out_chan_groups - 1) + 1) + 6 * (conv_groups - 1) + 1 +
           conv_groups * (16 + in_chan_groups * (14 + out_chan_groups * (14 + inner_cycles(target)))) +
           zeroing().cycles(target);
  }

  [[nodiscard]] constexpr zero_partials zeroing() const noexcept {
    return {.type = partials,
            .elements_per_group = field_rows * row_elements * out_chans_per_group,
            .groups = conv_groups * out_chan_groups};
  }

  /// As if no kernel element fell outside the input, and `filter_height` divided the kernel's rows.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_rows * row_elements * conv_groups * in_chan_groups * in_chans_per_group * out_chan_groups *
           out_chans_per_group * kernel_outer_elements * filter_height * kernel_inner_elements;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }
};

}  // namespace stagecraft::vertices
