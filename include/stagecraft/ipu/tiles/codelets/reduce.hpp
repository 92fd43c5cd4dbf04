// SPDX-License-Identifier: BSD-3-Clause
// Reductions over an axis, carried out tile by tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::detail {

/// One reduction on the machine, stage by stage as its plan says.
class tile_reduction {
 public:
  tile_reduction(tile_machine& machine, tile_operation const& operation)
      : machine_(machine),
        operation_(operation),
        function_(static_cast<reduce_function>(operation.function)),
        plan_(plan_reduce(machine.step(), operation, machine.target())),
        rows_(operation.sizes[3] == 0 ? plan_.reduced
                                      : plan_.reduced / operation.sizes[3] * machine.values().valid_samples) {}

  void run() {
    if (plan_.is_local) reduce_where_elements_lie();
    if (plan_.parts > 1) reduce_shares();
    reduce_where_results_lie();
  }

 private:
  static constexpr int most_operands = 2;
  /// What a tile has received: row after row, of all its columns.
  struct rows {
    tile_view operands[most_operands];
  };

  [[nodiscard]] double empty() const {
    return function_ == reduce_function::maximum ? -std::numeric_limits<double>::infinity() : 0.0;
  }
  [[nodiscard]] double joined(double sum, double next) const {
    if (function_ != reduce_function::maximum) return sum + next;
    return std::isnan(next) || next > sum ? next : sum;
  }
  /// What an element gives, before it is reduced.
  [[nodiscard]] double term(tile_view const* operands, std::int64_t index) const {
    double const value = static_cast<double>(operands[0][index]);
    if (function_ == reduce_function::sum_of_squares) return value * value;
    if (function_ == reduce_function::sum_of_products) return value * static_cast<double>(operands[1][index]);
    return value;
  }

  void reduce_where_elements_lie() {
    auto const& mapping = plan_.elements;
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const piece = mapping.elements_of(tile);
      auto const first = mapping.first(tile);
      auto const count = plan_.local_partials(piece);
      local_.push_back(machine_.allocate(tile, count, dtype::float32));
      auto const work = local_reduction(operation_, plan_, piece, machine_.target());
      machine_.count_flops(work.flops);
      machine_.vertex("reduce elements", tile, work.cycles, [&] {
        tile_view operands[most_operands];
        for (int i = 0; i < plan_.operands; ++i) operands[i] = machine_.home(operation_.inputs[i], tile);
        std::vector<double> sums(count, empty());
        for (std::int64_t e = 0; e < piece && counts(first + e); ++e) {
          auto& sum = sums[local_slot(tile, (first + e) / plan_.block(), (first + e) % plan_.inner)];
          sum = joined(sum, term(operands, e));
        }
        for (std::int64_t i = 0; i < count; ++i) local_.back().set(i, static_cast<float>(sums[i]));
      });
    }
    machine_.end_compute_set();
  }
  /// Whether an element belongs to a row that counts; those that do not are behind all that do.
  [[nodiscard]] bool counts(std::int64_t element) const {
    return rows_ == plan_.reduced || element < rows_ * plan_.inner;
  }
  /// Where a tile has its partial result for a column of an outer block.
  [[nodiscard]] std::int64_t local_slot(int tile, std::int64_t block, std::int64_t column) const {
    return (block - plan_.elements.first(tile) / plan_.block()) * plan_.inner + column;
  }

  /// Partial results that there are for the columns of an outer block.
  [[nodiscard]] std::int64_t partials_of(std::int64_t block) const {
    if (!plan_.is_local) return rows_;
    return last_tile(block) - first_tile(block) + 1;
  }
  [[nodiscard]] int first_tile(std::int64_t block) const { return plan_.elements.tile_of(block * plan_.block()); }
  [[nodiscard]] int last_tile(std::int64_t block) const {
    return plan_.elements.tile_of((block + 1) * plan_.block() - 1);
  }
  /// Partial result number `partial` for a column of a block comes; behind the last one, the last one again.
  void receive_partial(rows const& to, std::int64_t at, std::int64_t block, std::int64_t partial, std::int64_t column) {
    partial = smaller(partial, partials_of(block) - 1);
    if (plan_.is_local) {
      int const tile = first_tile(block) + static_cast<int>(partial);
      machine_.receive(to.operands[0], at, local_[tile], local_slot(tile, block, column), 1);
      return;
    }
    for (int i = 0; i < plan_.operands; ++i)
      machine_.receive(to.operands[i], at, operation_.inputs[i],
                       (block * plan_.reduced + partial) * plan_.inner + column, 1);
  }
  [[nodiscard]] rows allocate_rows(int tile, std::int64_t elements) {
    rows result;
    int const count = plan_.is_local ? 1 : plan_.operands;
    for (int i = 0; i < count; ++i)
      result.operands[i] = machine_.allocate(
          tile, elements, plan_.is_local ? dtype::float32 : machine_.step().input_of(operation_, i).type);
    return result;
  }
  [[nodiscard]] double value_of(rows const& from, std::int64_t index) const {
    return plan_.is_local ? static_cast<double>(from.operands[0][index]) : term(from.operands, index);
  }

  void reduce_shares() {
    auto const& mapping = plan_.shares;
    auto const depth = plan_.partials_of_part();
    std::vector<rows> received;
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      received.push_back(allocate_rows(tile, count * depth));
      shares_.push_back(machine_.allocate(tile, count, dtype::float32));
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t e = 0; e < count; ++e) {
          auto const [block, part, column] = place_of(mapping.first(tile) + e);
          receive_partial(received.back(), k * count + e, block, part * depth + k, column);
        }
    }
    machine_.end_exchange();
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      auto const work = share_reduction(operation_, plan_, count, machine_.target());
      machine_.count_flops(work.flops);
      machine_.vertex("reduce shares", tile, work.cycles, [&] {
        for (std::int64_t e = 0; e < count; ++e) {
          auto const [block, part, column] = place_of(mapping.first(tile) + e);
          double sum = empty();
          for (std::int64_t k = 0; k < smaller(depth, partials_of(block) - part * depth); ++k)
            sum = joined(sum, value_of(received[tile], k * count + e));
          shares_[tile].set(e, static_cast<float>(sum));
        }
      });
    }
    machine_.end_compute_set();
  }
  struct place {
    std::int64_t block, part, column;
  };
  [[nodiscard]] place place_of(std::int64_t share) const {
    return {share / (plan_.parts * plan_.inner), share / plan_.inner % plan_.parts, share % plan_.inner};
  }

  void reduce_where_results_lie() {
    auto const& mapping = plan_.results;
    auto const depth = plan_.last_partials();
    bool const from_shares = plan_.parts > 1;
    std::vector<rows> received;
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      if (from_shares)
        received.push_back({{machine_.allocate(tile, count * depth, dtype::float32), {}}});
      else
        received.push_back(allocate_rows(tile, count * depth));
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t e = 0; e < count; ++e) {
          std::int64_t const block = (mapping.first(tile) + e) / plan_.inner;
          std::int64_t const column = (mapping.first(tile) + e) % plan_.inner;
          if (from_shares)
            receive_share(received.back().operands[0], k * count + e, (block * plan_.parts + k) * plan_.inner + column);
          else
            receive_partial(received.back(), k * count + e, block, k, column);
        }
    }
    machine_.end_exchange();
    float const scale = reduce_scale(operation_) *
                        (rows_ == plan_.reduced ? 1.0F : static_cast<float>(plan_.reduced) / static_cast<float>(rows_));
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      auto const work = last_reduction(operation_, plan_, count, machine_.target());
      machine_.count_flops(work.flops);
      machine_.vertex("reduce", tile, work.cycles, [&] {
        auto const result = machine_.home(operation_.outputs[0], tile);
        auto const& from = received[tile];
        for (std::int64_t e = 0; e < count; ++e) {
          double sum = empty();
          auto const there = from_shares ? depth : partials_of((mapping.first(tile) + e) / plan_.inner);
          for (std::int64_t k = 0; k < there; ++k)
            sum = joined(sum, from_shares ? static_cast<double>(from.operands[0][k * count + e])
                                          : value_of(from, k * count + e));
          result.set(e, scale == 1 ? static_cast<float>(sum) : scale * static_cast<float>(sum));
        }
      });
    }
    machine_.end_compute_set();
  }
  void receive_share(tile_view const& to, std::int64_t at, std::int64_t share) {
    int const tile = plan_.shares.tile_of(share);
    machine_.receive(to, at, shares_[tile], share - plan_.shares.first(tile), 1);
  }

  tile_machine& machine_;
  tile_operation const& operation_;
  reduce_function function_;
  reduce_plan plan_;
  std::int64_t rows_;              ///< that count
  std::vector<tile_view> local_;   ///< partial results of each tile
  std::vector<tile_view> shares_;  ///< partial results on their way
};

}  // namespace stagecraft::detail

namespace stagecraft::tiles {

inline void run_reduce(tile_machine& machine, tile_operation const& operation) {
  detail::tile_reduction(machine, operation).run();
}

}  // namespace stagecraft::tiles
