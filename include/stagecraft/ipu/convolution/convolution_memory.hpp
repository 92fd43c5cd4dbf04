// SPDX-License-Identifier: BSD-3-Clause
// Where a tile keeps its copies and partial results while it works on a convolution.
#pragma once

#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Offsets in a block of memory in bytes, the same on all tiles of a plan; places are as large as tile 0 needs them.
/// Data that are laid out share a place with partial sums, and operands with received sums.
struct convolution_memory {
  std::int64_t zero = 0;     ///< a zero, from where padding comes; that of tile 0 is read
  std::int64_t results = 0;  ///< results of all serial parts, until they are sent home
  std::int64_t sums = 0;     ///< sums of several serial parts, if their type is not that of the results
  std::int64_t added = 0;    ///< sums that are added to these
  std::int64_t laid_out_inputs = 0, laid_out_weights = 0;
  std::int64_t received_inputs = 0, received_weights = 0;  ///< operands before they are laid out
  std::int64_t inputs = 0, weights = 0;
  std::int64_t cast_inputs = 0, cast_weights = 0;  ///< operands converted to float16
  std::int64_t partials = 0;
  std::int64_t received_partials = 0;
  std::int64_t reduced[3]{};  ///< sums of each stage of the reduction but the last
  std::int64_t landing = 0;   ///< results, before they are put in order at home

  std::int64_t results_per_part = 0;  ///< elements of the result in one serial part
  std::int64_t bytes = 0;

  /// `elements_at_home`: elements of the result that lie on tile 0.
  constexpr convolution_memory(convolution_division const& division, std::int64_t elements_at_home) noexcept {
    auto const& shape = division.problem.shape;
    auto const part = division.part(0, 0, 0), whole = division.serial_part(0, 0);
    std::int64_t const outputs = part.outputs();
    dtype const partial = division.view.partials;
    results_per_part = division.outputs_kept(outputs);

    std::int64_t end = 0;
    zero = take(end, 1, shape.input);
    results = take(end, division.serial_out_parts * results_per_part, shape.output);
    if (division.adds_serial_parts()) {
      if (partial != shape.output) sums = take(end, results_per_part, partial);
      added = take(end, results_per_part, partial);
    }
    if (division.sends_inputs_once) take_inputs(end, division, part);

    // Data that are laid out, then partial sums.
    std::int64_t shared = end;
    if (division.lays_out_inputs()) laid_out_inputs = take(shared, division.share(division.inputs(whole)), shape.input);
    if (division.lays_out_weights()) laid_out_weights = take(shared, division.share(whole.weights()), shape.input);
    partials = end;
    if (!division.computes_in_place()) take(end, outputs, partial);
    end = larger(end, shared);

    std::int64_t operands = end;
    if (!division.sends_inputs_once) take_inputs(operands, division, part);
    weights = take(operands, division.received_weights(0, part), shape.input);
    if (shape.multiplies_float16) cast_weights = take(operands, part.weights(), shape.operand());

    take(operands, division.problem.scratch_bytes(division.view, part.conv_groups.size(), outputs), dtype::uint8);

    std::int64_t reducing = received_partials = end;
    for (int i = 0; i < division.stages(); ++i) {
      auto const stage = division.stage(i, outputs);
      std::int64_t const tiles = stage.tiles - (division.sends_own_partials() ? 0 : 1);
      std::int64_t after = end;
      take(after, tiles * stage.chunks_per_tile * division.chunk(), partial);
      reducing = larger(reducing, after);
    }
    for (int i = 0; i + 1 < division.stages(); ++i)
      reduced[i] = take(reducing, division.stage(i, outputs).chunks_per_tile * division.chunk(), partial);

    std::int64_t received = received_inputs = end;
    if (division.lays_out_inputs()) take(received, division.share(division.inputs(whole)), shape.input);
    received_weights = received;
    if (division.lays_out_weights()) take(received, division.share(whole.weights()), shape.input);

    // When results come home, everything is free but the results that have not left.
    landing = partials;
    std::int64_t home = landing;
    if (division.view.rearranges_output) take(home, elements_at_home, shape.output);

    bytes = larger(larger(operands, reducing), larger(received, home));
  }

 private:
  constexpr void take_inputs(std::int64_t& end, convolution_division const& division,
                             convolution_part const& part) noexcept {
    auto const& shape = division.problem.shape;
    inputs = take(end, division.received_inputs(0, part), shape.input);
    if (shape.multiplies_float16) cast_inputs = take(end, division.inputs(part), shape.operand());
  }
  /// Whole loads of 64 bits.
  [[nodiscard]] static constexpr std::int64_t rounded(std::int64_t size) noexcept { return ceil_div(size, 8) * 8; }
  static constexpr std::int64_t take(std::int64_t& end, std::int64_t elements, dtype type) noexcept {
    std::int64_t const at = end;
    end += rounded(elements * size_of(type));
    return at;
  }
};

}  // namespace stagecraft::tiles
