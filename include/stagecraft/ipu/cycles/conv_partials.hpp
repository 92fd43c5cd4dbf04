// SPDX-License-Identifier: BSD-3-Clause
// Cycles of convolutions and matrix products on the units for matrix products (AMP): poplin's ConvPartial1x1Out for one
// kernel element, ConvPartialnx1 for several, and ConvPartial1xNSLIC for few channels.
#pragma once

#include <stagecraft/ipu/cycles/field_share.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Multiplies a tile's part of the inputs with its part of the weights, on the units for matrix products (AMP), and
/// adds up partial sums over groups of input channels. A group of input channels is what a unit multiplies at once
/// (ipu_target::weights_per_conv_unit). For each group of input channels, group of output channels and `conv_units`
/// output channels of it, the supervisor loads the units' weights, and the workers send their share of the field
/// through them: in the long run 4 cycles per element in float16, 8 in float32, for conv_units x weights products.
///
/// A matrix product of (rows x depth) and (depth x columns) is one with field_elements = rows, input channels = depth,
/// output channels = columns.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartial1x1Supervisor{Inner,Outer}LoopCycleEstimate.
/// Pieces of a worker are as in its planner: workers without elements do nothing.
struct conv_partial_1x1 {
  dtype input = dtype::float16;     ///< float32 or float16
  dtype partials = dtype::float32;  ///< float32, or float16 for inputs of float16
  int conv_units = 16;              ///< at most ipu_target::conv_units(input, partials); 8 is possible, too
  std::int64_t field_elements = 0;  ///< batch x rows x columns of outputs
  std::int64_t conv_groups = 1;
  std::int64_t in_chan_groups = 1;  ///< per group of the convolution
  std::int64_t out_chan_groups = 1;
  int in_chans_per_group = 16;  ///< only flops() asks
  int out_chans_per_group = 16;
  bool use_128bit_conv_unit_load = false;

  /// A worker's cycles for `elements` elements of the field. The first pass over a group of outputs also sets them to
  /// zero.
  [[nodiscard]] constexpr std::int64_t worker_cycles(std::int64_t elements, bool zeroes_outputs) const noexcept {
    std::int64_t const z = zeroes_outputs ? 1 : 0;
    if (is_float()) return long_path_cycles(elements, z, 24, 47, 46, 46, 8);
    if (!is_common_path()) return long_path_cycles(elements, z, 24, 39, 40, 41, 4);
    // The units set the sums to zero on their way.
    if (elements == 0) return 22 - z - retention_saving();
    if (elements == 1) return 33 - z - retention_saving();
    if (elements == 2) return 42 - z - retention_saving();
    return 38 - z + 4 * (elements - 3) - retention_saving();
  }

  /// Tile cycles of one pass of all workers over the field.
  [[nodiscard]] constexpr std::int64_t inner_cycles(ipu_target const& target, bool zeroes_outputs) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const less = field_elements / workers;
    std::int64_t const cycles_of_less = less == 0 ? 0 : workers * worker_cycles(less, zeroes_outputs);
    if (field_elements % workers == 0) return cycles_of_less + 14;
    std::int64_t const cycles_of_more = workers * worker_cycles(less + 1, zeroes_outputs);
    auto const longest = detail::larger(cycles_of_less, cycles_of_more);
    auto const shortest = detail::smaller(cycles_of_less, cycles_of_more);
    return detail::larger(longest, shortest + 14);
  }

  /// Cycles in which the weights of all units are loaded.
  [[nodiscard]] constexpr std::int64_t weight_load_cycles(ipu_target const& target) const noexcept {
    return std::int64_t{conv_units} * target.weight_bytes_per_conv_unit(input) /
           target.coeff_load_bytes_per_cycle(use_128bit_conv_unit_load);
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    std::int64_t const passes = detail::ceil_div(out_chans_per_group, conv_units);
    std::int64_t const load = weight_load_cycles(target);
    std::int64_t const q = is_common_path() ? 1 : 0;
    std::int64_t const retained = retention_saving() == 0 ? 0 : 7 + 3 * (in_chan_groups * conv_groups - 1);
    std::int64_t const later_inputs =
        16 - q + out_chan_groups * (19 + passes * (6 + load + inner_cycles(target, false)));
    std::int64_t const first_input = 11 + out_chan_groups * (19 - q + passes * (7 + load + inner_cycles(target, true)));
    return 50 + target.num_worker_contexts * retained +
           conv_groups * (12 + q + (in_chan_groups - 1) * later_inputs + first_input);
  }

  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_elements * conv_groups * in_chan_groups * in_chans_per_group * out_chan_groups * out_chans_per_group;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }

 private:
  [[nodiscard]] constexpr bool is_float() const noexcept { return input != dtype::float16; }
  [[nodiscard]] constexpr bool has_float_partials() const noexcept { return partials != dtype::float16; }
  /// float16 inputs with float32 partial sums, or with 16 units, take the same way through the code. (float32 counts
  /// as "common" only in the supervisor's part.)
  [[nodiscard]] constexpr bool is_common_path() const noexcept {
    return has_float_partials() || (!is_float() && conv_units == 16);
  }
  /// Cycles that a worker saves by finding the state that it left.
  [[nodiscard]] constexpr std::int64_t retention_saving() const noexcept {
    return !is_float() && is_common_path() ? 7 : 0;
  }
  /// Cycles of the loop that sets partial sums to zero, where it is a loop of its own.
  [[nodiscard]] constexpr std::int64_t long_path_cycles(std::int64_t elements, std::int64_t z, int none, int one,
                                                        int two, int many, int per_element) const noexcept {
    if (elements == 0) return none;
    std::int64_t const zero_cycles = is_float() && conv_units == 16 ? 8 : has_float_partials() ? 4 : 2;
    std::int64_t const zeroing = z * (2 + elements * zero_cycles);
    if (elements == 1) return one + zeroing;
    if (elements == 2) return two + zeroing;
    return many + zeroing + per_element * (elements - 3);
  }
};

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
    // The stride differs where the outputs of all units are not stored at once.
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
    int const retained = 9 + (partials != dtype::float16 ? 9 : 10);  // the first time, no state is found
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

  /// Multiply-accumulates, counted as if every kernel element fell inside the input and `filter_height` divided the
  /// kernel's rows.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_rows * row_elements * conv_groups * in_chan_groups * in_chans_per_group * out_chan_groups *
           out_chans_per_group * kernel_outer_elements * filter_height * kernel_inner_elements;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }
};

/// A convolution of a tile's part of float16 inputs, on the units for matrix products in another mode (SLIC): they
/// slide over a row, 4 columns of the kernel at once, with 4 channels by 4, two groups of the convolution of 2 by 2, or
/// four of 1 by 1. Half of the units, 8, see the inputs twice. The first of the kernel's blocks sets partial sums to
/// zero.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartialSlicSupervisor{WeightLoad, OuterLoop,
/// InnerLoop}CycleEstimate. As there, weights count as loaded once for all groups of the convolution.
struct conv_partial_slic {
  static constexpr int window = 4;    ///< columns of the kernel at once
  static constexpr int channels = 4;  ///< channels of all groups of the convolution that are computed at once

  dtype partials = dtype::float32;  ///< float32 or float16
  int conv_units = 8;               ///< 8, or 16 for float16 partial sums
  int conv_groups_at_once = 1;      ///< 1, 2 or 4
  std::int64_t field_rows = 0;      ///< batch x rows of outputs
  std::int64_t row_elements = 0;    ///< outputs in a row
  std::int64_t conv_groups = 1;     ///< groups of the convolution / conv_groups_at_once
  std::int64_t kernel_blocks = 1;   ///< kernel rows x (kernel columns / window, rounded up)
  int stride = 1;                   ///< stride of outputs along a row: 1 or 2

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

  /// Multiply-accumulates, counted as if every kernel element fell inside the input and all blocks were full.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_rows * row_elements * conv_groups * kernel_blocks * window * channels * channels / conv_groups_at_once;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }
};

}  // namespace stagecraft::vertices
