// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table whose numbers are data, and sums of rows that go to such places: popops::multiSlice and
// multiUpdateAdd.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/multi_slice.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The division of the table into parts of its rows, and of each into parts of its columns. A tile has one of these,
/// and looks at all numbers. What `parts_of_rows` tiles have found for a number is added up where the result lies.
struct table_division : table_parts {
  dtype type = dtype::float32, index_type = dtype::float32;

  [[nodiscard]] constexpr std::int64_t parts_of_rows() const noexcept { return ceil_div(rows, rows_each); }
  [[nodiscard]] constexpr std::int64_t parts_of_columns() const noexcept { return ceil_div(columns, columns_each); }
  [[nodiscard]] constexpr int tiles_used() const noexcept {
    return static_cast<int>(parts_of_rows() * parts_of_columns());
  }
  [[nodiscard]] constexpr bool is_gather() const noexcept { return function == table_function::gather; }
  [[nodiscard]] constexpr bool adds_up() const noexcept { return is_gather() && parts_of_rows() > 1; }
  [[nodiscard]] constexpr std::int64_t first_row(int tile) const noexcept {
    return tile / parts_of_columns() * rows_each;
  }
  [[nodiscard]] constexpr std::int64_t rows_of(int tile) const noexcept {
    return smaller(rows - first_row(tile), rows_each);
  }
  [[nodiscard]] constexpr std::int64_t first_column(int tile) const noexcept {
    return tile % parts_of_columns() * columns_each;
  }
  [[nodiscard]] constexpr std::int64_t columns_of(int tile) const noexcept {
    return smaller(columns - first_column(tile), columns_each);
  }
  /// Elements of a tile: its part of the table; its columns of all numbers.
  [[nodiscard]] constexpr std::int64_t part_of_table(int tile) const noexcept {
    return rows_of(tile) * columns_of(tile);
  }
  [[nodiscard]] constexpr std::int64_t found_of(int tile) const noexcept { return numbers * columns_of(tile); }

  /// Cycles of a tile, which fills its result with zeros first. The numbers are taken to name all rows alike often:
  /// then each worker finds an equal share of them. An addition is one more cycle for each vector of a row.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target, int tile) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const found = ceil_div(ceil_div(numbers, parts_of_rows()), workers);
    std::int64_t const cleared = is_gather() ? found_of(tile) : part_of_table(tile);
    vertices::multi_slice const vertex{.type = type,
                                       .row_elements = columns_of(tile),
                                       .offsets = numbers,
                                       .offsets_in_range = found,
                                       .is_update = !is_gather()};
    std::int64_t const additions =
        is_gather() ? 0 : workers * found * ceil_div(columns_of(tile), target.vector_width(type));
    return workers * vertices::fill{type, ceil_div(cleared, workers)}.worker_cycles(target) + vertex.cycles(target) +
           additions;
  }
  /// The work of adding up what tiles have found for `elements` elements of the result.
  [[nodiscard]] constexpr vertex_work addition(ipu_target const& target, std::int64_t elements) const noexcept {
    return {reduced_columns(vertices::reduce_operation::add, type, type, elements, parts_of_rows(), target),
            elements * parts_of_rows()};
  }
  [[nodiscard]] constexpr operation_cost cost(ipu_target const& target) const noexcept {
    tile_mapping const result(columns * (is_gather() ? numbers : rows), type, target);
    std::int64_t const bytes = size_of(type);
    std::int64_t const read = is_gather() ? part_of_table(0) : found_of(0);
    std::int64_t const made = is_gather() ? found_of(0) : part_of_table(0);
    operation_cost cost;
    cost.add_exchange(target, read * bytes + numbers * size_of(index_type));
    cost.add_compute_set(cycles(target, 0));
    cost.temporary_bytes =
        rounded_bytes(read * bytes) + rounded_bytes(numbers * size_of(index_type)) + rounded_bytes(made * bytes);
    if (!is_gather()) cost.flops = numbers * columns;
    if (!adds_up()) {
      cost.add_exchange(target, result.elements_of(0) * bytes);
      return cost;
    }
    cost.add_exchange(target, result.elements_of(0) * parts_of_rows() * bytes);
    cost.temporary_bytes += rounded_bytes(result.elements_of(0) * parts_of_rows() * bytes);
    add_compute_set(cost, {result.elements, result.elements_per_tile},
                    [&](std::int64_t elements) { return addition(target, elements); });
    return cost;
  }

  /// The division with fewest cycles; powers of 2 are tried for both numbers of parts.
  [[nodiscard]] static constexpr table_division best(table_division division, ipu_target const& target) noexcept {
    std::int64_t const width = target.vector_width(division.type);
    std::int64_t const vectors = ceil_div(division.columns, width);
    table_division best;
    std::int64_t cycles = -1;
    for (std::int64_t across = 1; across < 2 * vectors; across *= 2) {
      division.columns_each = smaller(division.columns, ceil_div(vectors, across) * width);
      for (std::int64_t down = 1; down < 2 * division.rows; down *= 2) {
        division.rows_each = ceil_div(division.rows, down);
        if (division.parts_of_rows() * division.parts_of_columns() > target.tiles_per_ipu) break;
        auto const these = division.cost(target).cycles();
        if (cycles >= 0 && these >= cycles) continue;
        cycles = these;
        best = division;
      }
    }
    return best;
  }

  [[nodiscard]] static constexpr table_division of(lowered_step const& step, task const& task) noexcept {
    return {task.what.as<table_parts>(), step.output_of(task).type, step.input_of(task, 1).type};
  }
};

/// `in` is the table, or what is added to it, of the result's type. Tensors are as `table_function` says.
constexpr void append_table(lowered_step& step, table_function function, int in, int numbers, int result, dtype type,
                            dtype index_type, std::int64_t rows, std::int64_t columns, std::int64_t count,
                            ipu_target const& target) {
  auto const division = table_division::best({{function, rows, columns, count}, type, index_type}, target);
  step.add(table_parts(division), {in, numbers}, {result});
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, table_parts const&,
                                               ipu_target const& target) noexcept {
  return table_division::of(step, task).cost(target);
}

}  // namespace stagecraft::tiles
