// SPDX-License-Identifier: BSD-3-Clause
// Cycles of convolutions that do not use the units for matrix products (AMP): poplin's ConvPartialVerticalMac for
// depthwise convolutions, ConvPartialHorizontalMac for others, and OuterProduct for a column times a row.
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

  /// Multiply-accumulates, counted as if every kernel element fell inside the input.
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

/// A convolution of a tile's part as dot products over the input channels of a group, by the workers' own vector
/// arithmetic: for numbers of channels that would leave the units for matrix products (AMP) mostly idle. The partial
/// sums are set to zero first by another vertex.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getConvPartialHorizontalMac*CycleEstimate and
/// getDenseDotProductCycles; how rows are cut: estimateConvPartialHorizontalMacInnerLoopCycles.
struct horizontal_mac {
  dtype input = dtype::float16;      ///< float32 or float16
  dtype partials = dtype::float32;   ///< float32, or float16 for inputs of float16
  std::int64_t field_rows = 0;       ///< batch x rows of outputs
  std::int64_t row_elements = 0;     ///< outputs in a row
  std::int64_t kernel_elements = 1;  ///< 1 takes a faster way for float16 inputs with float32 partial sums
  std::int64_t conv_groups = 1;
  std::int64_t in_chan_groups = 1;  ///< per group of the convolution
  std::int64_t out_chan_groups = 1;
  int in_chans_per_group = 1;
  int out_chans_per_group = 1;

  /// Cycles of a dot product over `size` input channels (of two, where partial sums are float16).
  [[nodiscard]] constexpr std::int64_t dot_product_cycles(ipu_target const& target, std::int64_t size) const noexcept {
    int const per_64_bits = is_float() ? 2 : 4;
    int const outputs = has_half_partials() ? 2 : 1;
    int width = target.vector_width(input);  // the widest that divides the channels
    while (size % width != 0) width /= 2;
    bool const loads_both = width >= per_64_bits;  // inputs and weights in the same cycle
    return 3 * outputs + (has_half_partials() ? 1 : 0) + 4 + (loads_both ? 0 : outputs) +
           size / width * (loads_both ? 1 : 2) - (is_float() ? 0 : 1);
  }

  /// A worker's cycles for one kernel element, which reaches `whole_pieces` runs of `whole` outputs and one of `rest`,
  /// if it is not 0.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target, std::int64_t whole_pieces,
                                                     std::int64_t whole, std::int64_t rest) const noexcept {
    std::int64_t const outputs = has_half_partials() ? (out_chans_per_group + 1) / 2 : out_chans_per_group;
    std::int64_t const dot = dot_product_cycles(target, in_chans_per_group);
    auto const of_run = [&](std::int64_t size) -> std::int64_t {
      if (is_1x1() && outputs == 1) return 13 + 1 + size * (2 + dot);
      return (is_1x1() ? 13 : 19) + size * (7 + outputs * dot);
    };
    return 16 - retained(is_float()) + whole_pieces * of_run(whole) + (rest == 0 ? 0 : of_run(rest));
  }

  /// Tile cycles for one group of input channels and one of output channels: all kernel elements.
  [[nodiscard]] constexpr std::int64_t inner_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    if (field_rows * row_elements == 0) return workers * (kernel_elements * worker_cycles(target, 0, 0, 0) + 16);
    // Rows are cut so that all workers get the same number of parts.
    std::int64_t const cuts = workers / detail::greatest_common_divisor(workers, field_rows);
    std::int64_t const parts = detail::ceil_div(field_rows * cuts, workers);
    std::int64_t const rest = parts % cuts * (row_elements + cuts - 1) / cuts;
    return workers * (kernel_elements * worker_cycles(target, parts / cuts, row_elements, rest) + 16);
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const overhead = (is_float() ? 58 : 65) - (is_1x1() ? 10 : 0);
    int const first_time = (has_half_partials() ? 10 : 9) + retained(!has_half_partials());
    return overhead + target.num_worker_contexts * first_time +
           conv_groups * (23 + in_chan_groups * (15 + out_chan_groups * (10 + inner_cycles(target))));
  }

  /// Multiply-accumulates, counted as if every kernel element fell inside the input.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return field_rows * row_elements * kernel_elements * conv_groups * in_chan_groups * in_chans_per_group *
           out_chan_groups * out_chans_per_group;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }

 private:
  [[nodiscard]] constexpr bool is_float() const noexcept { return input != dtype::float16; }
  [[nodiscard]] constexpr bool has_half_partials() const noexcept { return partials == dtype::float16; }
  [[nodiscard]] constexpr bool is_1x1() const noexcept {
    return kernel_elements == 1 && !is_float() && !has_half_partials();
  }
  /// Cycles that a worker saves by finding the state that it left. (The source asks for the type of the inputs in a
  /// worker, for that of the partial sums in the supervisor.)
  [[nodiscard]] constexpr int retained(bool with_float) const noexcept { return is_1x1() ? 15 : with_float ? 0 : 6; }
};

/// Multiplies `width` inputs, each of one channel, with the weights of all output channels: a convolution whose inputs
/// have one channel and whose kernel has one element. A vertex of one worker.
///
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getOuterProductCycleEstimate.
struct outer_product {
  dtype type = dtype::float16;  ///< type of inputs, weights and outputs
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
