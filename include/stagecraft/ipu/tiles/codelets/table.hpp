// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table by their numbers, on the tiles of an emulated IPU: ipu/tasks/table.hpp.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/table.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/kernels/elementwise/table_rows.hpp>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

class tile_table {
 public:
  tile_table(tile_machine& machine, task const& task)
      : machine_(machine), task_(task), of_(table_division::of(machine.step(), task)) {}

  void run() {
    for (int tile = 0; tile < of_.tiles_used(); ++tile) receive(tile);
    machine_.end_exchange();
    if (!of_.is_gather()) machine_.count_flops(of_.numbers * of_.columns);
    machine_.compute_set(
        of_.is_gather() ? "MultiSlice" : "MultiUpdateAdd", of_.tiles_used(),
        [&](int tile) { return vertex_work{of_.cycles(machine_.target(), tile), 0}; }, [&](int tile) { work(tile); });
    if (of_.adds_up()) return add_up();
    for (int tile = 0; tile < of_.tiles_used(); ++tile)
      for_each_row(tile, of_.is_gather() ? of_.numbers : of_.rows_of(tile), of_.is_gather() ? 0 : of_.first_row(tile),
                   [&](std::int64_t at, std::int64_t first, std::int64_t count) {
                     machine_.send(here(tile).made, at, task_.outputs[0], first, count);
                   });
    machine_.end_exchange();
  }

 private:
  struct part {
    tile_view read, numbers, made;
  };
  [[nodiscard]] part const& here(int tile) const { return parts_[tile]; }

  /// A tile's columns of `rows` rows of a tensor from `first_row` on: where they lie in its copy, and in the tensor.
  template <class Each>
  void for_each_row(int tile, std::int64_t rows, std::int64_t first_row, Each const& each) const {
    auto const columns = of_.columns_of(tile);
    for (std::int64_t row = 0; row < rows; ++row)
      each(row * columns, (first_row + row) * of_.columns + of_.first_column(tile), columns);
  }
  void receive(int tile) {
    auto const of_table = of_.part_of_table(tile), found = of_.found_of(tile);
    parts_.push_back({machine_.allocate(tile, of_.is_gather() ? of_table : found, of_.type),
                      machine_.allocate(tile, of_.numbers, of_.index_type),
                      machine_.allocate(tile, of_.is_gather() ? found : of_table, of_.type)});
    for_each_row(tile, of_.is_gather() ? of_.rows_of(tile) : of_.numbers, of_.is_gather() ? of_.first_row(tile) : 0,
                 [&](std::int64_t at, std::int64_t first, std::int64_t count) {
                   machine_.receive(here(tile).read, at, task_.inputs[0], first, count);
                 });
    machine_.receive(here(tile).numbers, 0, task_.inputs[1], 0, of_.numbers);
  }
  void work(int tile) {
    part const& own = here(tile);
    auto const columns = of_.columns_of(tile);
    for (std::int64_t i = 0; i < own.made.size(); ++i) own.made.set(i, 0);
    for (std::int64_t k = 0; k < of_.numbers; ++k) {
      float const number = own.numbers[k];
      auto const named = kernels::table_indices{&number, 1, of_.rows, 1, of_.index_type == dtype::int32}.row(0);
      if (named < 0) continue;
      auto const row = named - of_.first_row(tile);
      if (row < 0 || row >= of_.rows_of(tile)) continue;
      for (std::int64_t c = 0; c < columns; ++c)
        if (of_.is_gather())
          own.made.set(k * columns + c, own.read[row * columns + c]);
        else
          own.made.set(row * columns + c, own.made[row * columns + c] + own.read[k * columns + c]);
    }
  }
  void add_up() {
    int const output = task_.outputs[0];
    auto const mapping = machine_.mapping(output);
    auto const depth = of_.parts_of_rows(), across = of_.parts_of_columns();
    std::vector<tile_view> received;
    for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
      auto const count = mapping.elements_of(tile);
      received.push_back(machine_.allocate(tile, count * depth, of_.type));
      for (std::int64_t e = 0; e < count; ++e) {
        std::int64_t const number = (mapping.first(tile) + e) / of_.columns,
                           column = (mapping.first(tile) + e) % of_.columns;
        for (std::int64_t d = 0; d < depth; ++d) {
          int const from = static_cast<int>(d * across + column / of_.columns_each);
          machine_.receive(received.back(), d * count + e, here(from).made,
                           number * of_.columns_of(from) + column % of_.columns_each, 1);
        }
      }
    }
    machine_.end_exchange();
    machine_.compute_set(
        "reduce", mapping.tiles_used(),
        [&](int tile) { return of_.addition(machine_.target(), mapping.elements_of(tile)); },
        [&](int tile) {
          auto const count = mapping.elements_of(tile);
          for (std::int64_t e = 0; e < count; ++e) {
            float sum = 0;
            for (std::int64_t d = 0; d < depth; ++d) sum += received[tile][d * count + e];
            machine_.home(output, tile).set(e, sum);
          }
        });
  }

  tile_machine& machine_;
  task const& task_;
  table_division of_;
  std::vector<part> parts_;
};

inline void run(tile_machine& machine, task const& task, table_parts const&) { tile_table(machine, task).run(); }

}  // namespace stagecraft::tiles
