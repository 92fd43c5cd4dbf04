// SPDX-License-Identifier: BSD-3-Clause
// Where the operations of a list read and write, the loops that run, and operations that work along rows, several of
// which may be carried out for some rows after the others.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/reduction/reduce.hpp>
#include <stagecraft/operations/plan/value_places.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

  // The shapes and places that the operation writes and reads: of the samples that are worked on, or of all.
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
  static bool has_no_work(operations::operation const& what) {
    return is_alias(what) || what.is<operations::input>() || what.is<operations::weight>() ||
           what.is<operations::constant>() || what.is<operations::update>();  // the layer's, when the step has ended
  }
  void clear() { std::memset(y(), 0, static_cast<std::size_t>(size(shape())) * sizeof(float)); }
  static void copy(float const* from, float* to, std::int64_t floats) {
    if (from != to) std::memcpy(to, from, static_cast<std::size_t>(floats) * sizeof(float));
  }

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

/// Says of an operation what it does along rows: those of the last axis.
template <class Arch>
class list_rows : protected list_values<Arch> {
 protected:
  using typename list_values<Arch>::extents;
  using member = typename kernels::row_groups<Arch>::member;

  using list_values<Arch>::list_values;
  using list_values<Arch>::nodes_;
  using list_values<Arch>::read, list_values<Arch>::here, list_values<Arch>::shape, list_values<Arch>::shape_of,
      list_values<Arch>::x, list_values<Arch>::y, list_values<Arch>::loop_of, list_values<Arch>::place_of;

  /// True if a group may begin with the operation.
  [[nodiscard]] bool is_large() const {
    return kernels::row_groups<Arch>::is_large(here().shape.size()) ||
           (here().what.template is<operations::reduce>() &&
            kernels::row_groups<Arch>::is_large(nodes_[read(0)].shape.size()));
  }
  /// Returns the number of rows of the operation; 0 if it does not work on rows. `found`: what it does to them.
  std::int64_t find_rows(member& found) const {
    found = {};
    found.moved = -1;
    std::int64_t const rows = here().what.visit([&](auto const& what) { return rows_of(what, found); });
    bool is_one = found.step.y.is_one();
    for (int i = 0; i < found.step.operands; ++i) {
      auto const& operand = found.step.x[i];
      is_one = is_one &&
               (operand.stride == 0 ? operand.length == 1 : operand.is_one() && operand.length == found.step.y.length);
    }
    found.step.is_one_row = is_one;
    return rows;
  }

 private:
  using row_step = kernels::row_step;

  [[nodiscard]] static std::int64_t rows_of(extents const& of) {
    return of.rank == 0 || of[-1] == 0 ? 0 : of.size() / of[-1];
  }
  [[nodiscard]] static row_step::rows rows_at(float* begin, extents const& of) { return {begin, of[-1], of[-1]}; }

  static std::int64_t set_copy(member& found, row_step::rows const& from, row_step::rows const& to, std::int64_t rows) {
    found.step.run = &kernels::detail::copy_rows<Arch>;
    found.step.y = to;
    found.step.x[0] = from;
    found.step.operands = 1;
    return rows;
  }

  template <class Other>
  std::int64_t rows_of(Other const&, member&) const {
    return 0;
  }
  std::int64_t rows_of(operations::map const& what, member& found) const {
    extents const result = shape();
    if (result.rank == 0) return 0;
    found.step.run = kernels::row_kernel<Arch>(what.apply);
    found.step.operands = here().operand_count;
    found.step.y = rows_at(y(), result);
    for (int i = 0; i < found.step.operands; ++i) {
      extents const operand = shape_of(i);
      auto& to = found.step.x[i];
      if (operand.size() == 1)
        to = {x(i), 0, 1};
      else if (operand == result || is_column_of(result, operand))
        to = rows_at(x(i), operand);
      else if (operand[-1] == result[-1] && operand.size() == result[-1])
        to = {x(i), 0, result[-1]};
      else
        return 0;
    }
    return rows_of(result);
  }
  [[nodiscard]] static bool is_column_of(extents const& whole, extents const& column) {
    if (column.rank != whole.rank || column[-1] != 1) return false;
    for (int axis = 0; axis + 1 < whole.rank; ++axis)
      if (column[axis] != whole[axis]) return false;
    return true;
  }
  std::int64_t rows_of(operations::reduce const& what, member& found) const {
    extents const whole = shape_of(0);
    if (whole.rank == 0 || whole[-1] == 1 || what.axes != 1U << static_cast<unsigned>(whole.rank - 1)) return 0;
    found.step.run = kernels::row_kernel<Arch>(what.by);
    found.step.operands = 1;
    found.step.y = {y(), 1, 1};
    found.step.x[0] = rows_at(x(0), whole);
    return rows_of(whole);
  }
  std::int64_t rows_of(operations::slice const& what, member& found) const {
    extents const result = shape(), whole = shape_of(0);
    if (what.axis != result.rank - 1 || what.step != 1) return 0;
    return set_copy(found, {x(0) + what.begin, whole[-1], result[-1]}, rows_at(y(), result), rows_of(result));
  }
  std::int64_t rows_of(operations::next const&, member& found) const {
    extents const result = shape();
    if (result.rank == 0) return 0;
    return set_copy(found, rows_at(x(2), result), rows_at(y(), result), rows_of(result));
  }
  std::int64_t rows_of(operations::carry const&, member& found) const {
    extents const result = shape();
    if (result.rank == 0 || loop_of(0).trip > 0) return 0;
    found.first_trip_only = true;
    return set_copy(found, rows_at(x(1), result), rows_at(y(), result), rows_of(result));
  }
  std::int64_t rows_of(operations::at const& what, member& found) const {
    extents const result = shape();
    auto const one = result.rank == 0 ? row_step::rows{} : in_trip(what, x(1), result, shape_of(1), found, 1);
    return one.length == 0 ? 0 : set_copy(found, one, rows_at(y(), result), rows_of(result));
  }
  std::int64_t rows_of(operations::stack const& what, member& found) const {
    extents const of_trip = shape_of(1);
    auto const one = of_trip.rank == 0 ? row_step::rows{} : in_trip(what, y(), of_trip, shape(), found, 0);
    return one.length == 0 ? 0 : set_copy(found, rows_at(x(1), of_trip), one, rows_of(of_trip));
  }
  /// The rows of this trip in a tensor of all trips, if they lie at equal distances.
  template <class Where>
  row_step::rows in_trip(Where const& what, float* all_trips, extents const& of_trip, extents const& of_all,
                         member& found, int moved) const {
    bool const is_first = what.axis == 0;
    if (!is_first && what.axis != of_trip.rank - 1) return {};
    std::int64_t const length = of_trip[-1], trip = is_first ? of_trip.size() : length;
    found.moved = moved;
    found.per_trip = what.reversed ? -trip : trip;
    return {all_trips + place_of(what.reversed) * trip, is_first ? length : length * of_all[what.axis], length};
  }
};

}  // namespace stagecraft::cpu
