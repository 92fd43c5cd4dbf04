// SPDX-License-Identifier: BSD-3-Clause
// Where the operations of a list that is carried out read and write, and the loops that run.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/operations/plan/value_places.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::cpu {

/// Samples [first, first + count) of a batch.
struct batch_part {
  int first = 0, count = 1, of = 1;
};

/// The operation that is carried out (`id_`), and its operands. `memory[id]` is where the value of operation `id` lies:
/// of the whole batch, unless its place is storage::samples. What follows from shapes alone is compiled once for each
/// `Arch`.
template <class Arch>
class list_values {
 public:
  using node = operations::node;
  using extents = operations::extents;

 protected:
  list_values(tracing::array_view<node const> nodes, tracing::array_view<int const> operands,
              tracing::array_view<float* const> memory)
      : nodes_(nodes), operands_(operands), memory_(memory) {}

  [[nodiscard]] node const& here() const { return nodes_[id_]; }
  [[nodiscard]] int read(int index) const { return operands_[here().first_operand + index]; }

  // What the operation writes and reads: of the samples that are worked on, or of all.
  [[nodiscard]] extents shape() const { return by_sample_ ? shape_of_part(here().shape) : here().shape; }
  [[nodiscard]] float* y() const { return by_sample_ ? begin_of_part(id_) : memory_[id_]; }
  [[nodiscard]] extents shape_of(int index) const {
    extents const& whole = nodes_[read(index)].shape;
    return takes_part(index) ? shape_of_part(whole) : whole;
  }
  [[nodiscard]] float* x(int index) const {
    return takes_part(index) ? begin_of_part(read(index)) : memory_[read(index)];
  }
  [[nodiscard]] bool takes_part(int index) const {
    return by_sample_ && operations::is_taken_by_sample(here(), index, nodes_[read(index)].shape);
  }
  [[nodiscard]] extents shape_of_part(extents of) const {
    if (of.rank > 0) of[0] = of[0] / part_.of * part_.count;
    return of;
  }
  [[nodiscard]] float* begin_of_part(int id) const {
    float* const begin = memory_[id];
    if (places_[id].in == operations::storage::samples) return begin;
    return begin + nodes_[id].shape.size() / part_.of * part_.first;
  }
  static std::int64_t size(extents const& shape) { return shape.size(); }

  /// Floats from one place of an axis to the next.
  static std::int64_t stride(extents const& shape, int axis) {
    std::int64_t product = 1;
    for (int i = axis + 1; i < shape.rank; ++i) product *= shape[i];
    return product;
  }
  /// The stride along an axis in a wider result, where an operand that is 1 long repeats.
  static std::int64_t repeating_stride(extents const& shape, int axis, int rank) {
    int const own = axis - (rank - shape.rank);
    return own < 0 || shape.lengths[own] == 1 ? 0 : stride(shape, own);
  }
  [[nodiscard]] float* address_of(int id) const { return by_sample_ ? begin_of_part(id) : memory_[id]; }

  // Loops. The trip of the innermost one that runs is at the top.
  struct running {
    int loop, trips, trip;
    std::size_t begin;
  };
  running& top() { return loops_[depth_ - 1]; }
  running const& loop_of(int index) const { return loop_named(read(index)); }
  running const& loop_named(int loop) const {
    int i = depth_ - 1;
    while (loops_[i].loop != loop) --i;
    return loops_[i];
  }
  [[nodiscard]] int place_of(bool reversed) const {
    auto const& loop = loop_of(0);
    return reversed ? loop.trips - 1 - loop.trip : loop.trip;
  }

  tracing::array_view<node const> nodes_;
  tracing::array_view<int const> operands_;
  tracing::array_view<float* const> memory_;
  tracing::array_view<operations::place const> places_;
  batch_part part_;
  bool by_sample_ = false;
  int id_ = 0;
  running loops_[operations::loop::most_nested]{};
  int depth_ = 0;
};

}  // namespace stagecraft::cpu
