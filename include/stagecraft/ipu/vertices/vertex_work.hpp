// SPDX-License-Identifier: BSD-3-Clause
// What vertices do on one tile, and on all tiles where each has an equal share of something.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Cycles of a tile, and floating point operations.
struct vertex_work {
  std::int64_t cycles = 0;
  std::int64_t flops = 0;

  friend constexpr bool operator==(vertex_work const&, vertex_work const&) = default;

  constexpr vertex_work& operator+=(vertex_work const& other) noexcept {
    cycles += other.cycles;
    flops += other.flops;
    return *this;
  }
  /// A vertex that all workers of the tile share.
  template <class Vertex>
  constexpr void add(Vertex const& vertex, ipu_target const& target) noexcept {
    *this += {vertex.cycles(target), vertex.flops()};
  }
};

/// `count` things, cut into equal shares for the tiles one after the other. The last tile that has something may have
/// less; those after it have nothing.
struct equal_shares {
  std::int64_t count = 0;
  std::int64_t each = 0;

  constexpr equal_shares(std::int64_t things, ipu_target const& target) noexcept
      : count(things), each(ceil_div(things, target.tiles_per_ipu)) {}
  constexpr equal_shares(std::int64_t things, std::int64_t per_tile) noexcept : count(things), each(per_tile) {}

  [[nodiscard]] constexpr std::int64_t first(int tile) const noexcept { return smaller(tile * each, count); }
  [[nodiscard]] constexpr std::int64_t of(int tile) const noexcept { return first(tile + 1) - first(tile); }
  [[nodiscard]] constexpr int tiles_used() const noexcept {
    return count == 0 ? 0 : static_cast<int>(ceil_div(count, each));
  }
};

/// A compute set in which every tile works on its share: `work(things)` is what a tile does.
template <class Work>
constexpr void add_compute_set(operation_cost& cost, equal_shares const& shares, Work const& work) {
  int const used = shares.tiles_used();
  if (used == 0) return;
  vertex_work const first = work(shares.of(0)), last = work(shares.of(used - 1));
  cost.flops += (used - 1) * first.flops + last.flops;
  // A vertex may be slower for a few elements less: single ones beside whole vectors.
  cost.add_compute_set(used > 1 ? larger(first.cycles, last.cycles) : last.cycles);
}

/// All elements to one number. The workers of a tile share out the elements, and one adds up what they have found.
constexpr vertex_work reduced_elements(vertices::reduce_operation operation, dtype type, std::int64_t elements,
                                       ipu_target const& target) noexcept {
  int const workers = target.num_worker_contexts;
  vertices::reduce_to_scalar const of_worker{
      .operation = operation, .partials = type, .elements = ceil_div(elements, workers)};
  vertices::reduce_to_scalar const of_tile{.elements = workers};
  vertices::reduce_to_scalar const all{.operation = operation, .partials = type, .elements = elements};
  return {workers * (of_worker.worker_cycles(target) + of_tile.worker_cycles(target)), all.flops()};
}
/// Each of `rows` rows of `columns` elements is reduced to one number. The workers of a tile share out the rows or,
/// where that is faster, since there are few, the elements of one row after the other.
constexpr vertex_work reduced_rows(vertices::reduce_operation operation, dtype type, dtype result, std::int64_t rows,
                                   std::int64_t columns, ipu_target const& target) noexcept {
  int const workers = target.num_worker_contexts;
  vertices::reduce_to_scalar vertex{.operation = operation,
                                    .partials = type,
                                    .output = result,
                                    .outputs = ceil_div(rows, workers),
                                    .elements = columns};
  auto const by_rows = workers * vertex.worker_cycles(target);
  vertex.outputs = rows;
  return {smaller(by_rows, rows * reduced_elements(operation, type, columns, target).cycles), vertex.flops()};
}
/// An operation on each element of a row and a number of that row; shared out likewise.
constexpr vertex_work combined_rows(vertices::binary_operation operation, dtype type, std::int64_t rows,
                                    std::int64_t columns, ipu_target const& target) noexcept {
  vertices::broadcast_op const vertex{.operation = operation, .type = type, .elements = columns};
  return {smaller(vertex.cycles_of_rows(target, rows), rows * vertex.cycles(target)), rows * vertex.flops()};
}

/// Numbers from `tiles` tiles come to tile 0 and are added up there, by one worker.
constexpr vertex_work added_partials(int tiles, ipu_target const& target) noexcept {
  vertices::reduce_to_scalar const vertex{.elements = tiles};
  return {target.num_worker_contexts * vertex.worker_cycles(target), vertex.flops()};
}

}  // namespace stagecraft::tiles
