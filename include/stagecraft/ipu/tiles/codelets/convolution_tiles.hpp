// SPDX-License-Identifier: BSD-3-Clause
// Where the tiles of a convolution's plan keep what they work on, and how they add up their partial sums and the
// results of serial parts.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tiles {

/// Elements in the order in which a vertex reads them: those that were received, and among them those that lie on the
/// tile all the time.
struct convolution_operand {
  tile_view received;
  tile_view own;
  std::int64_t first_own = 0;  ///< the number of its own first element

  convolution_operand(tile_view const& all) : received(all) {}  // NOLINT: an operand in one piece
  convolution_operand(tile_view const& others, tile_view const& of_tile, std::int64_t first)
      : received(others), own(of_tile), first_own(first) {}

  [[nodiscard]] std::int64_t size() const noexcept { return received.size() + own.size(); }
  /// The number of the element that was received as number `index`.
  [[nodiscard]] std::int64_t number_of_received(std::int64_t index) const noexcept {
    return index < first_own ? index : index + own.size();
  }
  [[nodiscard]] float operator[](std::int64_t number) const {
    if (number < first_own) return received[number];
    return number < first_own + own.size() ? own[number - first_own] : received[number - own.size()];
  }
};

/// One block of memory on each tile of a plan, and the boxes and sums in it. Base of what works on them.
class convolution_tiles {
 protected:
  convolution_tiles(tile_machine& machine, task const& task)
      : machine_(machine),
        task_(task),
        division_(division_of(machine.step(), task, machine.target())),
        memory_(division_, machine.mapping(task.outputs[0]).elements_of(0)),
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
  /// The place where a serial part's results are summed up or wanted. Each but the first of those that are added up
  /// comes to a place of its own before.
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
    auto const& home = machine_.home(task_.inputs[1], tile);
    std::int64_t const first = division_.kernel_slice_of(out, in) * division_.kernel_share();
    return {home.data() + first * size_of(home.type()), elements, home.type(), tile};
  }
  /// The chunks that a tile adds up in a stage: from `first` on of all sums' chunks, one row of outputs after the
  /// other.
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
  task const& task_;
  convolution_division division_;
  convolution_memory memory_;
  dtype type_;     ///< type of operands
  dtype partial_;  ///< type of partial sums
  int tiles_;
  int depth_;  ///< number of tiles with partial sums of the same outputs; they are neighbours
  std::vector<tile_view> blocks_;

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(int tile, std::int64_t end) const {
    throw tile_access_error("E4102", "a convolution's copy on tile " + std::to_string(tile) + " ends at byte " +
                                         std::to_string(end) + " of " + std::to_string(blocks_[tile].size()));
  }
};

class convolution_sums : protected convolution_tiles {
 protected:
  using convolution_tiles::convolution_tiles;

  /// Partial sums of several tiles, or their rounding where each has all of its outputs.
  void reduce(std::int64_t out, std::int64_t in) {
    if (division_.stages() == 0) {
      if (division_.computes_in_place()) return;
      for (int tile = 0; tile < tiles_; ++tile) {
        auto const outputs = division_.part(tile, out, in).outputs();
        if (outputs == 0) continue;
        copy("ReducePartials", tile, division_.rounding_cycles(outputs), partials(tile, out, in, outputs),
             destination(tile, out, in, outputs));
      }
      machine_.end_compute_set();
      return;
    }
    for (int index = 0; index < division_.stages(); ++index) reduce_stage(out, in, index);
  }

  /// The results of a serial part to those before it, and the rounding of the last.
  void add(std::int64_t out, std::int64_t in) {
    if (!division_.adds_serial_parts()) return;
    auto const for_each_tile = [&](auto const& what) {
      for (int tile = 0; tile < tiles_; ++tile)
        if (auto const elements = kept(tile, out, in).size(); elements > 0) what(tile, elements);
      machine_.end_compute_set();
    };
    if (in > 0)
      for_each_tile([&](int tile, std::int64_t elements) {
        auto const to = sums(tile, out, elements);
        auto const from = destination(tile, out, in, elements);
        machine_.vertex("BinaryOp", tile, division_.add_cycles(elements), [&] {
          for (std::int64_t i = 0; i < elements; ++i) to.set(i, to[i] + from[i]);
        });
      });
    if (in + 1 == division_.serial_in_parts && partial_ != division_.problem.shape.output)
      for_each_tile([&](int tile, std::int64_t elements) {
        copy("ReducePartials", tile, division_.rounding_cycles(elements), sums(tile, out, elements),
             results(tile, out, elements));
      });
  }

 private:
  void reduce_stage(std::int64_t out, std::int64_t in, int index) {
    std::int64_t const chunk = division_.chunk();
    auto const for_each_chunk = [&](auto const& what) {
      for (int tile = 0; tile < tiles_; ++tile) {
        std::int64_t const outputs = division_.part(tile, out, in).outputs();
        if (outputs == 0) continue;
        auto const stage = division_.stage(index, outputs);
        auto const mine = chunks_of(stage, tile % depth_, outputs);
        std::int64_t const row_chunks = ceil_div(outputs, chunk);
        for (std::int64_t q = mine.first; q < mine.last; ++q) {
          auto const elements = index_range{0, outputs}.piece(chunk, q % row_chunks);
          what(tile, outputs, stage, mine, q - mine.first, q / row_chunks, elements);
        }
      }
    };
    // Row `row` of the stage's results is the sum of its inputs' rows from row * tiles on.
    auto const place = [&](reduction_stage const& stage, std::int64_t number, std::int64_t at_chunk) {
      return (number * stage.chunks_per_tile + at_chunk) * chunk;
    };
    auto const received = [&](int tile, reduction_stage const& stage) {
      std::int64_t const tiles = stage.tiles - (division_.sends_own_partials() ? 0 : 1);
      return at(tile, memory_.received_partials, tiles * stage.chunks_per_tile * chunk, partial_);
    };
    auto const is_own = [&](int tile, std::int64_t row) {
      return !division_.sends_own_partials() && row == tile % depth_;
    };
    // The tiles of a single stage's own partial sums take no place among those received.
    auto const number_of = [&](int tile, std::int64_t first, std::int64_t row) {
      return row - first - (!division_.sends_own_partials() && row > tile % depth_ ? 1 : 0);
    };
    for_each_chunk([&](int tile, std::int64_t outputs, reduction_stage const& stage, index_range, std::int64_t at_chunk,
                       std::int64_t row, index_range elements) {
      std::int64_t const first = row * stage.tiles;
      for (std::int64_t from = first; from < smaller(first + stage.tiles, stage.rows_in); ++from) {
        if (is_own(tile, from)) continue;
        auto const source = source_of(out, in, index, tile - tile % depth_, outputs, from, elements.first);
        machine_.receive(received(tile, stage), place(stage, number_of(tile, first, from), at_chunk), source.where,
                         source.first, elements.size());
      }
    });
    machine_.end_exchange();
    for (int tile = 0; tile < tiles_; ++tile) {
      std::int64_t const outputs = division_.part(tile, out, in).outputs();
      if (outputs == 0) continue;
      auto const stage = division_.stage(index, outputs);
      auto const mine = chunks_of(stage, tile % depth_, outputs);
      if (mine.size() == 0) continue;
      machine_.vertex("ReducePartials", tile, division_.reduce_cycles(stage, mine.size()), [&] {
        std::int64_t const row_chunks = ceil_div(outputs, chunk);
        for (std::int64_t q = mine.first; q < mine.last; ++q) {
          std::int64_t const row = q / row_chunks, first = row * stage.tiles, at_chunk = q - mine.first;
          auto const elements = index_range{0, outputs}.piece(chunk, q % row_chunks);
          auto const to = stage.is_last ? destination(tile, out, in, at_chunk * chunk + elements.size())
                                        : at(tile, memory_.reduced[index], stage.chunks_per_tile * chunk, partial_);
          for (std::int64_t i = 0; i < elements.size(); ++i) {
            double sum = 0;
            for (std::int64_t from = first; from < smaller(first + stage.tiles, stage.rows_in); ++from)
              sum += static_cast<double>(
                  is_own(tile, from) ? partials(tile, out, in, outputs)[elements.first + i]
                                     : received(tile, stage)[place(stage, number_of(tile, first, from), at_chunk) + i]);
            to.set(at_chunk * chunk + i, static_cast<float>(sum));
          }
        }
      });
    }
    machine_.end_compute_set();
  }

  /// The place of the elements from `first` on of a row of a stage's operand.
  struct partial_source {
    tile_view where;
    std::int64_t first = 0;
  };
  [[nodiscard]] partial_source source_of(std::int64_t out, std::int64_t in, int index, int first_tile,
                                         std::int64_t outputs, std::int64_t row, std::int64_t first) const {
    if (index == 0) return {partials(first_tile + static_cast<int>(row), out, in, outputs), first};
    std::int64_t const chunk = division_.chunk();
    auto const before = division_.stage(index - 1, outputs);
    std::int64_t const q = row * ceil_div(outputs, chunk) + first / chunk;
    auto const tile = static_cast<int>(q / before.chunks_per_tile);
    return {at(first_tile + tile, memory_.reduced[index - 1], before.chunks_per_tile * chunk, partial_),
            q % before.chunks_per_tile * chunk};
  }
};

}  // namespace stagecraft::tiles
