// SPDX-License-Identifier: BSD-3-Clause
// Which lists of operations are compiled to inlined code, and where their values lie in registers.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/row_layout.hpp>
#include <stagecraft/host/steps/row_ring.hpp>
#include <stagecraft/host/steps/rows_of_plan.hpp>
#include <stagecraft/kernels/product/product.hpp>
#include <numeric>

namespace stagecraft::cpu {

/// The lists that are inlined of those that can be: those for which it is faster, as measured; all; or none. Tests of
/// kernels force it with -DSTAGECRAFT_INLINED_LISTS=1 (all) and =0 (none), for a whole program.
enum class inlined_lists : unsigned char { none, all, as_measured };
#if !defined(STAGECRAFT_INLINED_LISTS)
inline constexpr auto which_are_inlined = inlined_lists::as_measured;
#elif STAGECRAFT_INLINED_LISTS
inline constexpr auto which_are_inlined = inlined_lists::all;
#else
inline constexpr auto which_are_inlined = inlined_lists::none;
#endif

/// The forward plan of a call, seen as rows: each operation of a sample is a row of columns, or a row for each trip of
/// its one loop. `Call`: a host_call.
template <class Call>
struct inlined_plan : rows_of_plan<Call> {
  using arch = typename Call::architecture;
  using layout = row_layout<arch>;
  using in_plan = rows_of_plan<Call>;
  using in_plan::columns, in_plan::count, in_plan::groups_of, in_plan::is_next_of_ring, in_plan::is_ring;
  using in_plan::is_state_of_ring, in_plan::is_window, in_plan::is_window_map, in_plan::is_window_product;
  using in_plan::kept_rows, in_plan::operand, in_plan::plan, in_plan::position_of, in_plan::rows, in_plan::shape_of;
  using in_plan::source, in_plan::what, in_plan::window_of;
  template <class What>
  static constexpr bool is(int id) {
    return in_plan::template is<What>(id);
  }
  template <class What>
  static constexpr auto const& as(int id) {
    return in_plan::template as<What>(id);
  }

  static constexpr bool is_computed(int id) {
    return (is<operations::map>(id) && !is_alias(what(id))) || is_product(id) || is_window_map(id);
  }
  /// True if an operation is a product with packed weights, of a row or of the rows under a window.
  static constexpr bool is_product(int id) { return is<operations::product>(id) || is_window_product(id); }

  /// The positions in the plan's order where the loop begins and ends; -1 if there is none.
  static constexpr int loop_position = position_of([](int id) { return is<operations::loop>(id); });
  static constexpr int end_position = position_of([](int id) { return is<operations::loop_end>(id); });
  /// Rows that are computed one after the other: the loop's trips, or the steps that a ring takes up.
  static constexpr int trips = [] {
    if constexpr (loop_position >= 0) return as<operations::loop>(plan.forward[loop_position]).trips;
    for (int const id : plan.forward)
      if (is_ring(id)) return rows(operand(id, 1));
    return 1;
  }();
  static constexpr bool is_inside(int position) { return position > loop_position && position < end_position; }
  /// True if the operation at a position before the loop has a row for each trip: then the trip computes its own. (What
  /// a single trip reads is computed before it, since a state may begin with it.)
  static constexpr bool is_of_trip(int position) {
    return trips > 1 && position < loop_position && is_computed(plan.forward[position]) &&
           rows(plan.forward[position]) == trips;
  }
  /// True if the loop goes through its tensors from the end, as all that it reads of them says.
  static constexpr bool is_reversed = [] {
    for (int const id : plan.forward)
      if (is<operations::at>(id)) return as<operations::at>(id).reversed;
    return false;
  }();

  /// True if the kernel for products multiplies the rows of all trips before the loop: weights of more than
  /// `most_near_floats` would leave the near caches between trips. (An LSTM of 256 units reads 128 columns in 14 us a
  /// trip this way, and in 20 us in the trip; below, the trip is faster.)
  static constexpr bool is_at_once(int id) {
    constexpr int most_near_floats = 8192;
    if (which_are_inlined == inlined_lists::all) return false;
    return loop_position >= 0 && is<operations::product>(id) && trips >= 4 && rows(id) == trips &&
           is<operations::input>(source(operand(id, 0))) && is<operations::weight>(source(operand(id, 1))) &&
           columns(operand(id, 0)) * columns(id) > most_near_floats;
  }
  static constexpr kernels::product_shape shape_at_once(int id) {
    return {.rows = rows(id), .inner = columns(operand(id, 0)), .columns = columns(id)};
  }
  static constexpr long long result_at_once(int id) { return (shape_of(id).size() + 63) / 64 * 64; }
  /// Floats of workspace: of such products, and what the kernel needs for one.
  static constexpr long long workspace = [] {
    long long floats = 0, largest = 0;
    for (int const id : plan.forward)
      if (is_at_once(id)) {
        floats += result_at_once(id);
        auto const own = static_cast<long long>(kernels::product_workspace<arch>(shape_at_once(id)));
        largest = own > largest ? own : largest;
      }
    return floats + largest;
  }();
  static constexpr long long place_at_once(int id) {
    long long floats = 0;
    for (int const other : plan.forward) {
      if (other == id) break;
      if (is_at_once(other)) floats += result_at_once(other);
    }
    return floats;
  }

  static constexpr layout layout_of(int id) {
    int const of_row = columns(id);
    int group = of_row;
    for (int const other : plan.forward)
      if (is<operations::slice>(other) && columns(operand(other, 0)) == of_row && columns(other) != of_row)
        group = std::gcd(std::gcd(group, columns(other)), as<operations::slice>(other).begin);
    return {of_row, group};
  }
  /// Terms of each sum of a product.
  static constexpr int inner(int product) {
    return window_of(product).size * columns(operand(product, 0)) / groups_of(product);
  }
  /// The layout of the columns of a group that a product computes.
  static constexpr layout layout_of_product(int id) {
    int const of_group = columns(id) / groups_of(id);
    return groups_of(id) == 1 ? layout_of(id) : layout(of_group, of_group);
  }
  static constexpr int packed_of_group(int product) { return inner(product) * layout_of_product(product).packed_row(); }
  /// Sums of an element that a product of a long window adds side by side, where few registers would wait for each
  /// other.
  static constexpr int chains(int product) {
    int const at_once = layout_of_product(product).part_end(0);
    return !is_window_product(product) || inner(product) < 8 || at_once > 4 ? 1 : at_once > 2 ? 2 : 4;
  }
  /// The right operand of a product: columns of a matrix of weights.
  struct right_operand {
    int weight = 0;        ///< the operation
    int first_column = 0;  /// of those that are multiplied by
  };
  static constexpr right_operand right_of(int product) {
    int const right = source(operand(product, 1));
    if (!is<operations::slice>(right)) return {right, 0};
    return {source(operand(right, 0)), as<operations::slice>(right).begin};
  }

  // Places: of values in registers, of states, and of packed weights.
  static constexpr int place(int id, bool (*counts)(int)) {
    int sum = 0;
    for (int const other : plan.forward) {
      if (other == id) break;
      if (counts(other)) sum += layout_of(other).registers();
    }
    return sum;
  }
  static constexpr int register_of(int id) { return place(id, is_computed); }
  static constexpr int state_of(int id) { return place(id, is<operations::carry>); }
  static constexpr int registers = register_of(-1), state_registers = state_of(-1);
  static constexpr int packed_place(int id) {
    int sum = 0;
    for (int const other : plan.forward) {
      if (other == id) break;
      if (is_product(other) && !is_at_once(other)) sum += groups_of(other) * packed_of_group(other);
    }
    return sum;
  }
  /// Floats that the call's products have packed, once until weights change.
  static constexpr int packed_floats = packed_place(-1);
  /// The place of a ring, or of a state that is no ring, among what is kept from call to call; of no operation: the
  /// end.
  static constexpr int kept_place(int id) {
    int sum = 0;
    for (int const other : plan.forward) {
      if (other == id) break;
      if (is_ring(other))
        sum += row_ring::floats(kept_rows(other), columns(other));
      else if (in_plan::is_kept_state(other))
        sum += (static_cast<int>(shape_of(other).size()) + 15) / 16 * 16;
    }
    return sum;
  }
  static constexpr int kept_floats = kept_place(-1);

  /// True if nothing is read from an input after the output is written: then both may be the same memory.
  static constexpr bool writes_last = [] {
    auto const is_found_before = [](int id) { return is_computed(source(id)) || is<operations::last>(source(id)); };
    for (auto const& each : plan.updates)
      if (!is_next_of_ring(each.value) && !is_found_before(each.value)) return false;
    return trips == 1 && is_found_before(plan.output);
  }();

 private:
  // The rules of what can be inlined.

  /// A row for each trip: no other axis than that of the trips has a length.
  static constexpr bool is_of_trips(int id, int axis) {
    auto const& shape = shape_of(id);
    return axis >= 0 && axis + 1 < shape.rank && shape[axis] == trips && rows(id) == trips;
  }
  /// Rows of a value as all that reads it in its place expects them: one, or, before the loop, one for each trip.
  static constexpr bool has_right_rows(int position) {
    int const all = rows(plan.forward[position]);
    return all == 1 || ((position < loop_position || loop_position < 0) && all == trips);
  }
  static constexpr bool is_plain_weight(int id) {
    return is<operations::weight>(id) &&
           Call::parameter_info(as<operations::weight>(id).index).layout == parameter_layout::plain;
  }
  /// Rows of a matrix of weights.
  static constexpr bool is_part_of_weight(int id) {
    return is<operations::slice>(id) && is_plain_weight(operand(id, 0)) && as<operations::slice>(id).axis == 0 &&
           shape_of(operand(id, 0)).rank == 2 && as<operations::slice>(id).step == 1 && rows(id) == 1;
  }
  /// Columns of a matrix of weights, which only products read.
  static constexpr bool is_right_operand(int id) {
    return is<operations::slice>(id) && is_plain_weight(source(operand(id, 0))) &&
           as<operations::slice>(id).axis == 1 && shape_of(id).rank == 2 && shape_of(id)[0] > 1;
  }
  static constexpr bool is_part_of_row(int id) {
    if (!is<operations::slice>(id)) return false;
    auto const& slice = as<operations::slice>(id);
    int const whole = operand(id, 0);
    if (slice.axis + 1 != shape_of(id).rank || slice.step != 1 || rows(whole) != rows(id) || !is_row(whole))
      return false;
    auto const wide = layout_of(whole), own = layout_of(id);
    return wide.group == own.group ||
           (columns(id) % wide.group == 0 && wide.group % layout::width == 0 && own.group % layout::width == 0);
  }
  /// True if `read` has a value row by row.
  static constexpr bool is_row(int id) {
    int const from = source(id);
    if (columns(from) != columns(id) || rows(from) != rows(id)) return false;
    return is_computed(from) || is<operations::input>(from) || is<operations::constant>(from) ||
           is<operations::carry>(from) || is<operations::last>(from) || is<operations::at>(from) || is_repeated(from) ||
           (is_plain_weight(from) && rows(from) == 1) || is_part_of_weight(from) || is_part_of_row(from);
  }
  /// A row that stands at each place, or one number of a constant.
  static constexpr bool is_repeated(int id) {
    if (!is<operations::broadcast>(id) || rows(id) != 1) return false;
    return is<operations::constant>(source(operand(id, 0))) ||
           (is_row(operand(id, 0)) && columns(operand(id, 0)) == columns(id));
  }
  /// True if a map of `of` columns and rows can read an operand: a row of as many, or one number of a constant or
  /// weight.
  static constexpr bool is_operand_of_map(int id, int of) {
    if (is<operations::constant>(source(id))) return true;
    if (is_plain_weight(source(id)) && shape_of(id).size() == 1) return true;
    return is_row(id) && columns(id) == columns(of) && (rows(id) == 1 || rows(id) == rows(of));
  }
  static constexpr bool is_known_product(int id) {
    auto const& product = as<operations::product>(id);
    int const left = operand(id, 0), right = source(operand(id, 1)), weight = right_of(id).weight;
    bool const is_part = is<operations::slice>(right);
    if (is_part && (as<operations::slice>(right).axis != 1 || as<operations::slice>(right).step != 1)) return false;
    // The memory of another shape may be a matrix, too.
    bool const is_matrix =
        is_part ? shape_of(weight).rank == 2 && shape_of(right) == shape_of(operand(id, 1)) &&
                      shape_of(weight)[0] == columns(left) && columns(right) == columns(id)
                : columns(weight) == columns(id) && rows(weight) == columns(left) && shape_of(operand(id, 1)).rank == 2;
    return !product.transpose_a && !product.transpose_b && is_row(left) && rows(left) == rows(id) &&
           is_plain_weight(weight) && !in_plan::is_kept_state(weight) && is_matrix;
  }
  static constexpr bool are_operands_known(int id) {
    for (int i = 0; i < plan.nodes[id].operand_count; ++i)
      if (!is_operand_of_map(operand(id, i), id)) return false;
    return true;
  }
  /// True if a ring has the rows of all, and nothing else reads it or its state.
  static constexpr bool is_known_ring(int id) {
    for (int const other : plan.forward)
      for (int i = 0; i < plan.nodes[other].operand_count; ++i) {
        if (operand(other, i) == id && !is_window(other) && !is_next_of_ring(other)) return false;
        if (operand(other, i) == operand(id, 0) && other != id && !is<operations::update>(other) &&
            !is<operations::broadcast>(other))
          return false;
      }
    return loop_position < 0 && is_row(operand(id, 1)) && rows(operand(id, 1)) == trips &&
           1LL * kept_rows(id) * columns(id) < 1 << 24;
  }
  static constexpr bool is_known_window(int id) {
    return rows(id) == trips && inner(id) <= 4 * most_columns &&
           (is<operations::pooling>(id) || is_plain_weight(source(operand(id, 1))));
  }
  /// True if the operation at a position is one of those that inlined_list carries out.
  static constexpr bool is_known(int position) {
    int const id = plan.forward[position];
    if (columns(id) > most_columns) return false;
    if (is<operations::input>(id) || is<operations::constant>(id) || is<operations::weight>(id) ||
        is<operations::loop>(id) || is<operations::loop_end>(id) || is<operations::update>(id))
      return true;
    if (is_alias(what(id))) return is_row(id) || is_plain_weight(source(id)) || is_stacked_output(id);
    if (is_ring(id)) return is_known_ring(id);
    if (is_next_of_ring(id)) return true;
    if (is<operations::broadcast>(id) && is_state_of_ring(operand(id, 0))) return true;
    if (is_window(id)) return is_known_window(id);
    if (is<operations::slice>(id))
      return is_part_of_weight(id) || is_right_operand(id) || (is_part_of_row(id) && has_right_rows(position));
    if (is<operations::broadcast>(id)) return is_repeated(id);
    if (is_computed(id))
      return has_right_rows(position) && (is<operations::product>(id) ? is_known_product(id) : are_operands_known(id));
    if (is<operations::carry>(id))
      return is_row(operand(id, 1)) && rows(id) == 1 && columns(id) == columns(operand(id, 1));
    if (is<operations::next>(id))
      return is_computed(source(operand(id, 2))) && columns(operand(id, 1)) == columns(operand(id, 2)) && rows(id) == 1;
    if (is<operations::at>(id)) {
      int const all = operand(id, 1);
      auto const& at = as<operations::at>(id);
      return is_row(all) && is_of_trips(all, at.axis) && columns(all) == columns(id) && at.reversed == is_reversed;
    }
    if (is<operations::stack>(id))
      return id == source(plan.output) && is_row(operand(id, 1)) && rows(operand(id, 1)) == 1 &&
             is_of_trips(id, as<operations::stack>(id).axis);
    return is<operations::last>(id) && rows(id) == 1 && is<operations::carry>(operand(id, 1));
  }
  /// True if a row is read from a state when it is stored, by which time the state may have its next value.
  static constexpr bool is_of_state(int id) {
    id = source(id);
    while (is<operations::broadcast>(id) || is<operations::slice>(id)) id = source(operand(id, 0));
    return in_plan::next_state(id) >= 0;
  }
  static constexpr bool is_stacked_output(int id) {
    return is<operations::stack>(source(id)) && source(id) == source(plan.output);
  }

  // Longer rows, and more of them, are left to kernels: what is unrolled for each register takes long to compile.
  static constexpr int most_columns = which_are_inlined == inlined_lists::all ? 4096 : 1024,
                       most_registers = most_columns;

 public:
  /// True if all operations are known, with at most one loop, and few enough.
  static constexpr bool holds = [] {
    if (Call::batch != 1 || which_are_inlined == inlined_lists::none) return false;
    int loops = 0;
    for (int i = 0; i < count; ++i) {
      loops += is<operations::loop>(plan.forward[i]) ? 1 : 0;
      if (loops > 1 || !is_known(i)) return false;
    }
    for (auto const& each : plan.updates)
      if (!is_next_of_ring(each.value) && (!is_row(each.value) || rows(each.value) != 1 || is_of_state(each.value)))
        return false;
    int const output = source(plan.output);
    bool const is_output_known = loop_position >= 0 && is<operations::stack>(output)
                                     ? true
                                     : is_row(plan.output) && rows(plan.output) == (loop_position < 0 ? trips : 1);
    return is_output_known && registers <= most_registers;
  }();
};

}  // namespace stagecraft::cpu
