// SPDX-License-Identifier: BSD-3-Clause
// How the tiles of a convolution's plan add up their partial sums, and the results of serial parts.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution_tiles.hpp>
#include <cstdint>

namespace stagecraft::tiles {

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
    // Row `row` of what the stage gives is the sum of those from row * tiles on of what it takes.
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

  /// Where the elements from `first` on of row `row` of what a stage takes lie.
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
