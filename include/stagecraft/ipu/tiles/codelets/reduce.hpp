// SPDX-License-Identifier: BSD-3-Clause
// Reductions over an axis, carried out tile by tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stagecraft::tiles {

/// One reduction on the machine, stage by stage as its plan says.
class tile_reduction {
 public:
  tile_reduction(tile_machine& machine, task const& task)
      : machine_(machine),
        task_(task),
        function_(task.what.as<axis_reduction>().function),
        plan_(plan_reduce(machine.step(), task, machine.target())),
        rows_(plan_.reduced) {
    if (auto const samples = task.what.as<axis_reduction>().samples; samples != 0)
      rows_ = plan_.reduced / samples * machine.values().valid_samples;
  }

  void run() {
    if (plan_.is_local) reduce_where_elements_lie();
    if (plan_.parts > 1) {
      auto shares = machine_.allocate_on(plan_.shares.tiles_used(), dtype::float32,
                                         [&](int tile) { return plan_.shares.elements_of(tile); });
      reduce_partials("reduce shares", share_reduction, plan_.shares, shares, plan_.parts, plan_.partials_of_part(), 1);
      partials_ = std::move(shares);
      from_ = source::shares;
    }
    std::vector<tile_view> results;
    for (int tile = 0; tile < plan_.results.tiles_used(); ++tile)
      results.push_back(machine_.home(task_.outputs[0], tile));
    float const scale = reduce_scale(task_) *
                        (rows_ == plan_.reduced ? 1.0F : static_cast<float>(plan_.reduced) / static_cast<float>(rows_));
    reduce_partials("reduce", last_reduction, plan_.results, results, 1, plan_.last_partials(), scale);
  }

 private:
  static constexpr int most_operands = 2;
  /// The kinds of partial results: the elements themselves, the results of tiles for their own elements, or shares of
  /// these.
  enum class source : unsigned char { elements, tiles, shares };
  /// The elements that a tile has received: row after row, of all its columns.
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
  /// The term of an element in the reduction.
  [[nodiscard]] double term(tile_view const* operands, std::int64_t index) const {
    double const value = static_cast<double>(operands[0][index]);
    if (function_ == reduce_function::sum_of_squares) return value * value;
    if (function_ == reduce_function::sum_of_products) return value * static_cast<double>(operands[1][index]);
    return value;
  }

  void reduce_where_elements_lie() {
    auto const& mapping = plan_.elements;
    from_ = source::tiles;
    partials_ = machine_.allocate_on(mapping.tiles_used(), dtype::float32,
                                     [&](int tile) { return plan_.local_partials(mapping.elements_of(tile)); });
    machine_.compute_set(
        "reduce elements", mapping.tiles_used(),
        [&](int tile) { return local_reduction(task_, plan_, mapping.elements_of(tile), machine_.target()); },
        [&](int tile) {
          tile_view operands[most_operands];
          for (int i = 0; i < plan_.operands; ++i) operands[i] = machine_.home(task_.inputs[i], tile);
          std::vector<double> sums(partials_[tile].size(), empty());
          auto const first = mapping.first(tile);
          for (std::int64_t e = 0; e < mapping.elements_of(tile) && counts(first + e); ++e) {
            auto& sum = sums[local_slot(tile, (first + e) / plan_.block(), (first + e) % plan_.inner)];
            sum = joined(sum, term(operands, e));
          }
          for (std::size_t i = 0; i < sums.size(); ++i) partials_[tile].set(i, static_cast<float>(sums[i]));
        });
  }
  /// True if an element belongs to a row that counts; those that do not come after all that do.
  [[nodiscard]] bool counts(std::int64_t element) const {
    return rows_ == plan_.reduced || element < rows_ * plan_.inner;
  }
  /// The place of a tile's partial result for a column of an outer block.
  [[nodiscard]] std::int64_t local_slot(int tile, std::int64_t block, std::int64_t column) const {
    return (block - plan_.elements.first(tile) / plan_.block()) * plan_.inner + column;
  }

  /// Partial results that there are for the columns of an outer block.
  [[nodiscard]] std::int64_t partials_of(std::int64_t block) const {
    if (from_ == source::elements) return rows_;
    return from_ == source::shares ? plan_.parts : last_tile(block) - first_tile(block) + 1;
  }
  [[nodiscard]] int first_tile(std::int64_t block) const { return plan_.elements.tile_of(block * plan_.block()); }
  [[nodiscard]] int last_tile(std::int64_t block) const {
    return plan_.elements.tile_of((block + 1) * plan_.block() - 1);
  }
  /// Partial result number `partial` for a column of a block comes; after the last one, the last one again.
  void receive_partial(rows const& to, std::int64_t at, std::int64_t block, std::int64_t partial, std::int64_t column) {
    partial = smaller(partial, partials_of(block) - 1);
    if (from_ == source::tiles) {
      int const tile = first_tile(block) + static_cast<int>(partial);
      machine_.receive(to.operands[0], at, partials_[tile], local_slot(tile, block, column), 1);
    } else if (from_ == source::shares) {
      std::int64_t const share = (block * plan_.parts + partial) * plan_.inner + column;
      int const tile = plan_.shares.tile_of(share);
      machine_.receive(to.operands[0], at, partials_[tile], share - plan_.shares.first(tile), 1);
    } else {
      for (int i = 0; i < plan_.operands; ++i)
        machine_.receive(to.operands[i], at, task_.inputs[i], (block * plan_.reduced + partial) * plan_.inner + column,
                         1);
    }
  }
  [[nodiscard]] rows allocate_rows(int tile, std::int64_t elements) {
    rows result;
    bool const are_elements = from_ == source::elements;
    for (int i = 0; i < (are_elements ? plan_.operands : 1); ++i)
      result.operands[i] =
          machine_.allocate(tile, elements, are_elements ? machine_.step().input_of(task_, i).type : dtype::float32);
    return result;
  }
  [[nodiscard]] double value_of(rows const& from, std::int64_t index) const {
    return from_ == source::elements ? term(from.operands, index) : static_cast<double>(from.operands[0][index]);
  }

  /// The elements of (outer, parts, inner), each made of up to `depth` partial results, which come to where it lies.
  void reduce_partials(char const* name, decltype(&last_reduction) work_of, tile_mapping const& mapping,
                       std::vector<tile_view> const& results, std::int64_t parts, std::int64_t depth, float scale) {
    struct place {
      std::int64_t block, part, column;
    };
    auto const place_of = [&](std::int64_t element) -> place {
      return {element / (parts * plan_.inner), element / plan_.inner % parts, element % plan_.inner};
    };
    std::vector<rows> received;
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      received.push_back(allocate_rows(tile, count * depth));
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t e = 0; e < count; ++e) {
          auto const [block, part, column] = place_of(mapping.first(tile) + e);
          receive_partial(received.back(), k * count + e, block, part * depth + k, column);
        }
    }
    machine_.end_exchange();
    machine_.compute_set(
        name, mapping.tiles_used(),
        [&](int tile) { return work_of(task_, plan_, mapping.elements_of(tile), machine_.target()); },
        [&](int tile) {
          auto const count = mapping.elements_of(tile);
          for (std::int64_t e = 0; e < count; ++e) {
            auto const [block, part, column] = place_of(mapping.first(tile) + e);
            double sum = empty();
            for (std::int64_t k = 0; k < smaller(depth, partials_of(block) - part * depth); ++k)
              sum = joined(sum, value_of(received[tile], k * count + e));
            results[tile].set(e, scale == 1 ? static_cast<float>(sum) : scale * static_cast<float>(sum));
          }
        });
  }

  tile_machine& machine_;
  task const& task_;
  reduce_function function_;
  reduce_plan plan_;
  std::int64_t rows_;  ///< that count
  source from_ = source::elements;
  std::vector<tile_view> partials_;  ///< by tile; empty if partial results are elements
};

inline void run(tile_machine& machine, task const& task, axis_reduction const&) { tile_reduction(machine, task).run(); }

}  // namespace stagecraft::tiles
