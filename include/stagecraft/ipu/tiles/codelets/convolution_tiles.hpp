// SPDX-License-Identifier: BSD-3-Clause
// Where the tiles of a convolution's plan keep what they work on.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution_operand.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tiles {

/// One block of memory on each tile of a plan, and the boxes and sums in it. Base of what works on them.
class convolution_tiles {
 protected:
  convolution_tiles(tile_machine& machine, tile_operation const& operation)
      : machine_(machine),
        operation_(operation),
        division_(division_of(machine.step(), operation, machine.target())),
        memory_(division_, machine.mapping(operation.outputs[0]).elements_of(0)),
        type_(division_.problem.shape.input),
        partial_(division_.view.partials),
        tiles_(static_cast<int>(division_.partition.tiles())),
        depth_(static_cast<int>(division_.partition.reduction_depth())) {
    for (int tile = 0; tile < tiles_; ++tile) blocks_.push_back(machine_.allocate(tile, memory_.bytes, dtype::uint8));
  }

  /// A place in a tile's block.
  [[nodiscard]] tile_view at(int tile, std::int64_t offset, std::int64_t elements, dtype type) const {
    auto const& block = blocks_[tile];
    auto const end = offset + elements * size_of(type);
    if (offset < 0 || end > block.size()) fail(tile, end);
    return {block.data() + offset, elements, type, tile};
  }
  /// Where a serial part's results are summed up or wanted. Each but the first of those that are added up comes to a
  /// place of its own before.
  [[nodiscard]] tile_view sums(int tile, std::int64_t out, std::int64_t elements) const {
    if (division_.adds_serial_parts() && partial_ != division_.problem.shape.output)
      return at(tile, memory_.sums, elements, partial_);
    return results(tile, out, elements);
  }
  [[nodiscard]] tile_view results(int tile, std::int64_t out, std::int64_t elements) const {
    dtype const type = division_.problem.shape.output;
    return at(tile, memory_.results + out * memory_.results_per_part * size_of(type), elements, type);
  }
  [[nodiscard]] tile_view destination(int tile, std::int64_t out, std::int64_t in, std::int64_t elements) const {
    return in > 0 ? at(tile, memory_.added, elements, partial_) : sums(tile, out, elements);
  }
  [[nodiscard]] tile_view partials(int tile, std::int64_t out, std::int64_t in, std::int64_t outputs) const {
    return division_.computes_in_place() ? destination(tile, out, in, outputs)
                                         : at(tile, memory_.partials, outputs, partial_);
  }
  /// A tile's operands as they were stored: from where they were received and, of a kernel that lies where it is
  /// multiplied, from there.
  [[nodiscard]] convolution_operand input_operand(int tile, std::int64_t out, std::int64_t in) const {
    auto const part = division_.part(tile, out, in);
    auto const received = at(tile, memory_.inputs, division_.received_inputs(tile, part), type_);
    if (!division_.inputs_are_there()) return received;
    return kernel_operand(tile, out, in, received);
  }
  [[nodiscard]] convolution_operand weight_operand(int tile, std::int64_t out, std::int64_t in) const {
    auto const part = division_.part(tile, out, in);
    auto const received = at(tile, memory_.weights, division_.received_weights(tile, part), type_);
    if (!division_.weights_are_there()) return received;
    return kernel_operand(tile, out, in, received);
  }
  [[nodiscard]] convolution_operand kernel_operand(int tile, std::int64_t out, std::int64_t in,
                                                   tile_view const& received) const {
    auto const own = division_.kernel_share_of(tile, division_.part(tile, out, in));
    return {received, kernel_at_home(tile, out, in, own.size()), own.first};
  }
  /// A tile's share of a slice of the kernel.
  [[nodiscard]] tile_view kernel_at_home(int tile, std::int64_t out, std::int64_t in, std::int64_t elements) const {
    auto const& home = machine_.home(operation_.inputs[1], tile);
    std::int64_t const first = division_.kernel_slice_of(out, in) * division_.kernel_share();
    return {home.data() + first * size_of(home.type()), elements, home.type(), tile};
  }
  /// What a tile adds up in a stage: from `first` on of all sums' chunks, one row of outputs after the other.
  [[nodiscard]] index_range chunks_of(reduction_stage const& stage, int index, std::int64_t outputs) const {
    return index_range{0, stage.rows_out * ceil_div(outputs, division_.chunk())}.piece(stage.chunks_per_tile, index);
  }
  /// Elements of a serial part's results that a tile has, by their numbers among those of its part.
  [[nodiscard]] index_range kept(int tile, std::int64_t out, std::int64_t in) const {
    std::int64_t const outputs = division_.part(tile, out, in).outputs();
    if (division_.stages() == 0 || outputs == 0) return {0, outputs};
    auto const chunks = chunks_of(division_.stage(division_.stages() - 1, outputs), tile % depth_, outputs);
    auto const elements = chunks.times(division_.chunk());
    return {smaller(elements.first, outputs), smaller(elements.last, outputs)};
  }

  /// An element after the other, also to another type.
  template <class From>
  void copy(char const* name, int tile, std::int64_t cycles, From const& from, tile_view const& to) {
    machine_.vertex(name, tile, cycles, [&] {
      for (std::int64_t i = 0; i < from.size(); ++i) to.set(i, from[i]);
    });
  }

  tile_machine& machine_;
  tile_operation const& operation_;
  convolution_division division_;
  convolution_memory memory_;
  dtype type_;     ///< of operands
  dtype partial_;  ///< of partial sums
  int tiles_;
  int depth_;  ///< how many tiles have partial sums of the same outputs; they are neighbours
  std::vector<tile_view> blocks_;

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(int tile, std::int64_t end) const {
    throw tile_access_error("E4102", "a convolution's copy on tile " + std::to_string(tile) + " ends at byte " +
                                         std::to_string(end) + " of " + std::to_string(blocks_[tile].size()));
  }
};

}  // namespace stagecraft::tiles
