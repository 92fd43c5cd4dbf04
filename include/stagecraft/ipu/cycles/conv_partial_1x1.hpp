// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the vertex for matrix products and convolutions with one kernel element: poplin's ConvPartial1x1Out.
#pragma once

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
    // Zeroing is done by the units, on their way.
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
  /// What a worker saves where it finds the state that it left.
  [[nodiscard]] constexpr std::int64_t retention_saving() const noexcept {
    return !is_float() && is_common_path() ? 7 : 0;
  }
  /// Where zeroing is a loop of its own.
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

}  // namespace stagecraft::vertices
