// SPDX-License-Identifier: BSD-3-Clause
// Carries out the forward step of one sample as inlined code: a function for each operation of its plan, values in
// registers, a loop for the trips. It has the bits of list_runner, which interprets the same plan: products add the
// terms of an element one after the other, functions are the same, and each operation rounds by itself.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/inlined_product.hpp>
#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/kernels/product/product.hpp>
#include <cstring>
#include <utility>

namespace stagecraft::cpu {

/// `Call`: a host_call whose inlined_plan holds. `packed`: floats of its own that `pack` has written since the weights
/// changed. `kept`: floats of its own in which the states stay from call to call. Both are aligned to 64 bytes.
template <class Call>
class inlined_list {
  using of_call = inlined_plan<Call>;
  using arch = typename of_call::arch;
  using layout = typename of_call::layout;
  using value = kernels::batch<arch>;
  static constexpr auto const& plan = of_call::plan;
  static constexpr int trips = of_call::trips;

  template <class What>
  static constexpr bool is(int id) {
    return of_call::template is<What>(id);
  }
  template <class What>
  static constexpr auto const& as(int id) {
    return of_call::template as<What>(id);
  }
  static constexpr int operand(int id, int index) { return of_call::operand(id, index); }
  static constexpr int source(int id) { return of_call::source(id); }
  static constexpr int columns(int id) { return of_call::columns(id); }
  static constexpr layout layout_of(int id) { return of_call::layout_of(id); }

  // Places are constants here: Clang would ask the plan for them in each call.
  template <int Id>
  static constexpr int first_register = of_call::register_of(Id);
  template <int Id>
  static constexpr int first_state = of_call::state_of(Id) * layout::width;
  template <int Id>
  static constexpr int first_packed = of_call::packed_place(Id);
  template <int Id>
  static constexpr long long first_at_once = of_call::place_at_once(Id);
  template <int Id>
  static constexpr int columns_of = of_call::columns(Id);

  /// The longest row that is stored for a product or a ring.
  static constexpr int most_left = [] {
    int most = 1;
    for (int const id : plan.forward) {
      bool const is_stored = of_call::is_ring(id) || of_call::is_window_product(id);
      int const length = is<operations::product>(id) ? of_call::inner(id) : is_stored ? columns(id) : 1;
      if (length > most) most = length;
    }
    return (most + 15) / 16 * 16;
  }();

  /// The numbers of a row that are read one by one.
  struct numbers_in_memory {
    alignas(64) float states[(of_call::state_registers + 1) * layout::width];
    alignas(64) float left[most_left];
  };
  /// Values of a row; nothing is set before it is computed. Numbers in memory stand elsewhere: compilers keep an array
  /// of registers in registers only as long as nothing has an address in the same object.
  struct values {
    values(Call const& of, float const* packed_weights, float* states_between_calls, numbers_in_memory& memory)
        : call(of), packed(packed_weights), kept(states_between_calls), states(memory.states), left(memory.left) {}

    Call const& call;
    float const* packed;
    float* kept;
    float *states, *left;
    value registers[of_call::registers + 1];
  };

 public:
  static constexpr int packed_floats = of_call::packed_floats;
  /// Floats of the states, which are ahead of the stored ones after a step.
  static constexpr int kept_floats = of_call::kept_floats;
  static constexpr long long workspace = of_call::workspace;
  /// Bytes of the values of a row.
  static constexpr long long local_bytes() {
    return static_cast<long long>(sizeof(values) + sizeof(numbers_in_memory));
  }

  /// Packs what the products multiply by, in the order in which they read it.
  static void pack(Call const& call, float* packed) {
    for (int const id : plan.forward) {
      if (!of_call::is_product(id) || of_call::is_at_once(id)) continue;
      auto const of = of_call::layout_of_product(id);
      auto const [weight, first_column] = of_call::right_of(id);
      int const all_columns = of_call::is_window_product(id) ? columns(id) : columns(weight),
                groups = of_call::groups_of(id), of_group = columns(id) / groups;
      for (int group = 0; group < groups; ++group, packed += of_call::packed_of_group(id)) {
        float const* const weights =
            call.weight(as<operations::weight>(weight).index) + first_column + group * of_group;
        for (int first = 0; first < of.registers(); first = of.part_end(first))
          for (int k = 0; k < of_call::inner(id); ++k)
            for (int r = first; r < of.part_end(first); ++r) {
              float* const to = packed + of_call::inner(id) * of.packed_before(first) + k * of.row_of_part(first) +
                                of.packed_before(r) - of.packed_before(first);
              for (int lane = 0; lane < of.packed_floats(r); ++lane)
                to[lane] = lane < of.lanes_of(r) ? weights[k * all_columns + of.column_of(r) + lane] : 0.0F;
            }
      }
    }
  }

  /// Takes the states from where `state_of(index)` of a weight of the layer says.
  template <class StateOf>
  static void take_states(float* kept, StateOf const& state_of) {
    for (int const id : plan.forward)
      if (of_call::is_ring(id))
        ring(kept, id).fill(state_of(as<operations::weight>(operand(id, 0)).index));
      else if (of_call::is_kept_state(id))
        std::memcpy(kept + of_call::kept_place(id), state_of(as<operations::weight>(id).index), bytes_of(id));
  }
  /// Copies the states to where `state_of(index)` says.
  template <class StateOf>
  static void give_states(float* kept, StateOf const& state_of) {
    for (int const id : plan.forward)
      if (of_call::is_ring(id))
        ring(kept, id).copy_to(state_of(as<operations::weight>(operand(id, 0)).index));
      else if (of_call::is_kept_state(id))
        std::memcpy(state_of(as<operations::weight>(id).index), kept + of_call::kept_place(id), bytes_of(id));
  }

  static void forward(Call const& call, float const* packed, float* kept) {
    numbers_in_memory memory;
    values all(call, packed, kept, memory);
    if constexpr (of_call::loop_position < 0) {
#pragma GCC unroll 1
      for (int row = 0; row < trips; ++row) {
        each_of<0, of_call::count>([&]<int I>()
                                       __attribute__((always_inline)) { evaluate<plan.forward[I]>(all, row); });
        store<plan.output>(all, row, call.output() + row * columns_of<plan.output>);
      }
    } else {
      each_of<0, of_call::loop_position>([&]<int I>() __attribute__((always_inline)) {
        if constexpr (of_call::is_at_once(plan.forward[I]))
          multiply_at_once<plan.forward[I]>(call);
        else if constexpr (!of_call::is_of_trip(I))
          evaluate<plan.forward[I]>(all, 0);
      });
      each_of<of_call::loop_position, of_call::end_position>([&]<int I>() __attribute__((always_inline)) {
        constexpr int id = plan.forward[I];
        if constexpr (is<operations::carry>(id)) keep<operand(id, 1), id>(all, 0);
      });
#pragma GCC unroll 1
      for (int trip = 0; trip < trips; ++trip) run_trip(all, of_call::is_reversed ? trips - 1 - trip : trip);
      each_of<of_call::end_position, of_call::count>(
          [&]<int I>() __attribute__((always_inline)) { evaluate<plan.forward[I]>(all, 0); });
      if constexpr (!is<operations::stack>(source(plan.output))) store<plan.output>(all, 0, call.output());
    }
    each_of<0, static_cast<int>(plan.updates.size())>([&]<int I>() __attribute__((always_inline)) {
      constexpr int next = plan.updates[I].value;
      if constexpr (!of_call::is_next_of_ring(next)) store<next>(all, 0, next_state<plan.updates[I].weight>(all));
    });
  }

 private:
  static row_ring ring(float* kept, int id) {
    return {kept + of_call::kept_place(id), of_call::kept_rows(id), columns(id)};
  }
  static std::size_t bytes_of(int id) { return sizeof(float) * static_cast<std::size_t>(of_call::shape_of(id).size()); }
  /// The place of the new value of a weight that is a state.
  template <int Weight>
  [[gnu::always_inline]] static inline float* next_state(values const& all) {
    constexpr int id = [] {
      for (int const each : plan.forward)
        if (of_call::is_kept_state(each) && as<operations::weight>(each).index == Weight) return each;
      return -1;
    }();
    constexpr int place = of_call::kept_place(id);
    if constexpr (id >= 0)
      return all.kept + place;
    else
      return all.call.mutable_weight(Weight);
  }

  /// One trip of the loop, on the row at its place.
  [[gnu::always_inline]] static inline void run_trip(values& all, int row) {
    each_of<0, of_call::loop_position>([&]<int I>() __attribute__((always_inline)) {
      if constexpr (of_call::is_of_trip(I)) evaluate<plan.forward[I]>(all, row);
    });
    each_of<of_call::loop_position, of_call::end_position>(
        [&]<int I>() __attribute__((always_inline)) { evaluate<plan.forward[I]>(all, row); });
    each_of<of_call::loop_position, of_call::end_position>([&]<int I>() __attribute__((always_inline)) {
      constexpr int id = plan.forward[I];
      if constexpr (is<operations::next>(id)) keep<operand(id, 2), operand(id, 1)>(all, row);
    });
  }

  /// The place where a row of a tensor of rows begins, if it has several.
  template <int Id>
  static constexpr long long begin_of([[maybe_unused]] int row) {
    if constexpr (of_call::rows(Id) > 1)
      return static_cast<long long>(row) * columns_of<Id>;
    else
      return 0;
  }
  template <int Id>
  [[gnu::always_inline]] static inline float const* input_row(values const& all, int row) {
    return all.call.input(as<operations::input>(Id).index) + begin_of<Id>(row);
  }
  template <int Id>
  [[gnu::always_inline]] static inline float const* weight_of(values const& all) {
    if constexpr (of_call::is_kept_state(Id)) {
      constexpr int place = of_call::kept_place(Id);
      return all.kept + place;
    } else {
      return all.call.weight(as<operations::weight>(Id).index);
    }
  }
  template <layout Of, int Register>
  [[gnu::always_inline]] static inline value load(float const* row) {
    return kernels::load_lanes<Of.lanes_of(Register), arch>(row + Of.column_of(Register));
  }
  /// A register of a value, of `row` if it has several.
  template <int Id, int Register>
  [[gnu::always_inline]] static inline value read(values const& all, int row) {
    constexpr layout of = layout_of(Id);
    if constexpr (is_alias(of_call::what(Id)) || is<operations::broadcast>(Id)) {
      return read<operand(Id, 0), is<operations::constant>(source(operand(Id, 0))) ? 0 : Register>(all, row);
    } else if constexpr (of_call::is_computed(Id)) {
      return all.registers[first_register<Id> + Register];
    } else if constexpr (is<operations::constant>(Id)) {
      return value(as<operations::constant>(Id).value);
    } else if constexpr (is<operations::input>(Id)) {
      return load<of, Register>(input_row<Id>(all, row));
    } else if constexpr (is<operations::weight>(Id)) {
      return load<of, Register>(weight_of<Id>(all));
    } else if constexpr (is<operations::carry>(Id)) {
      return value::load_aligned(all.states + (first_state<Id> + Register * layout::width));
    } else if constexpr (is<operations::last>(Id) || is<operations::at>(Id)) {
      return read<operand(Id, 1), Register>(all, row);
    } else {
      constexpr auto slice = as<operations::slice>(Id);
      constexpr int whole = operand(Id, 0);
      if constexpr (is<operations::weight>(whole)) {
        return load<of, Register>(weight_of<whole>(all) + slice.begin * columns_of<Id>);
      } else {
        constexpr layout wide = layout_of(whole);
        return read<whole, slice.begin / wide.group * wide.per_group + Register>(all, row);
      }
    }
  }
  /// A register of an operand of a map of `Columns`, which may be one number.
  template <int Id, int Register, int Columns>
  [[gnu::always_inline]] static inline value read_for(values const& all, int row) {
    if constexpr (columns(Id) == Columns || is<operations::constant>(source(Id)))
      return read<Id, Register>(all, row);
    else
      return value(weight_of<source(Id)>(all)[0]);
  }

  /// Writes a row in the order of its columns.
  template <int Id>
  [[gnu::always_inline]] static inline void store(values const& all, int row, float* to) {
    constexpr layout of = layout_of(Id);
    each_of<0, of.registers()>([&]<int R>() __attribute__((always_inline)) {
      kernels::store_lanes<of.lanes_of(R), arch>(read<Id, R>(all, row), to + of.column_of(R));
    });
  }
  /// Hands a value to a state.
  template <int Id, int Carry>
  [[gnu::always_inline]] static inline void keep(values& all, int row) {
    each_of<0, layout_of(Carry).registers()>([&]<int R>() __attribute__((always_inline)) {
      read<Id, R>(all, row).store_aligned(all.states + (first_state<Carry> + R * layout::width));
    });
  }
  /// The numbers of a row in memory, one after the other.
  template <int Id>
  [[gnu::always_inline]] static inline float const* numbers(values& all, int row) {
    constexpr int from = source(Id);
    if constexpr (is<operations::input>(from)) {
      return input_row<from>(all, row);
    } else if constexpr (is<operations::carry>(from) && layout_of(Id).groups == 1) {
      return all.states + first_state<from>;
    } else {
      store<Id>(all, row, all.left);
      return all.left;
    }
  }

  template <int Id>
  static float* rows_at_once(Call const& call) {
    return call.memory.workspace + first_at_once<Id>;
  }
  template <int Id>
  static void multiply_at_once(Call const& call) {
    constexpr int left = source(operand(Id, 0)), right = source(operand(Id, 1));
    kernels::product<arch>(of_call::shape_at_once(Id), call.input(as<operations::input>(left).index),
                           call.weight(as<operations::weight>(right).index), rows_at_once<Id>(call),
                           call.memory.workspace + first_at_once<-1>);
  }

  template <int Id>
  [[gnu::always_inline]] static inline void evaluate([[maybe_unused]] values& all, [[maybe_unused]] int row) {
    constexpr layout of = layout_of(Id);
    if constexpr (of_call::is_at_once(Id)) {
      float const* const from = rows_at_once<Id>(all.call) + begin_of<Id>(row);
      each_of<0, of.registers()>(
          [&]<int R>() __attribute__((always_inline)) { all.registers[first_register<Id> + R] = load<of, R>(from); });
    } else if constexpr (of_call::is_ring(Id)) {
      constexpr int own = operand(Id, 1);
      // Not through registers, since reading back what a masked store has written takes long.
      ring_of<Id>(all).template take<columns_of<own>>(numbers<own>(all, row));
    } else if constexpr (of_call::is_window_map(Id)) {
      float const* const window = ring_of<operand(Id, 0)>(all).window();
      float const* weights = nullptr;
      if constexpr (is<operations::convolution>(Id)) weights = weight_of<source(operand(Id, 1))>(all);
      each_of<0, of.registers()>([&]<int R>() __attribute__((always_inline)) {
        all.registers[first_register<Id> + R] = by_product<Id>::template under_window<R>(window, weights);
      });
    } else if constexpr (of_call::is_window_product(Id)) {
      constexpr int groups = of_call::groups_of(Id), of_group = columns_of<operand(Id, 0)> / groups;
      float const* const window = ring_of<operand(Id, 0)>(all).window();
      if constexpr (groups == 1) {
        multiply<Id>(all, window);
      } else {
        constexpr layout of_result = of_call::layout_of_product(Id);
#pragma GCC unroll 1
        for (int group = 0; group < groups; ++group)
          by_product<Id>::template multiply<0>(all.packed + first_packed<Id> + group * of_call::packed_of_group(Id),
                                               window + group * of_group,
                                               [&]<int R>(value const& sum) __attribute__((always_inline)) {
                                                 kernels::store_lanes<of_result.lanes_of(R), arch>(
                                                     sum, all.left + group * of_result.group + of_result.column_of(R));
                                               });
        each_of<0, of.registers()>([&]<int R>() __attribute__((always_inline)) {
          all.registers[first_register<Id> + R] = load<of, R>(all.left);
        });
      }
    } else if constexpr (is<operations::product>(Id)) {
      multiply<Id>(all, numbers<operand(Id, 0)>(all, row));
    } else if constexpr (of_call::is_computed(Id)) {
      constexpr auto apply = as<operations::map>(Id).apply;
      constexpr int operands = plan.nodes[Id].operand_count;
      constexpr int a = operand(Id, 0), b = operand(Id, operands > 1 ? 1 : 0), c = operand(Id, operands > 2 ? 2 : 0);
      each_of<0, of.registers()>([&]<int R>() __attribute__((always_inline)) {
        value const y =
            function_value<apply>(read_for<a, R, columns(Id)>(all, row), read_for<b, R, columns(Id)>(all, row),
                                  read_for<c, R, columns(Id)>(all, row));
        // Compilers would fuse a product with the sum that reads it.
        all.registers[first_register<Id> + R] = apply == operations::function::multiply ? kernels::rounded<arch>(y) : y;
      });
    } else if constexpr (is<operations::stack>(Id)) {
      constexpr bool same_end = as<operations::stack>(Id).reversed == of_call::is_reversed;
      store<operand(Id, 1)>(all, row, all.call.output() + (same_end ? row : trips - 1 - row) * columns_of<Id>);
    }
  }
  template <operations::function F>
  [[gnu::always_inline]] static inline value function_value(value const& a, value const& b, value const& c) {
    if constexpr (asks_for_fast_activations<Call::plan::training>)
      return kernels::fast_function_value<F, arch>(a, b, c);
    else
      return kernels::function_value<F, arch>(a, b, c);
  }
  template <int Id>
  [[gnu::always_inline]] static inline row_ring ring_of(values const& all) {
    constexpr int place = of_call::kept_place(Id), rows = of_call::kept_rows(Id);
    return {all.kept + place, rows, columns_of<Id>};
  }
  template <int Id>
  using by_product = inlined_product<of_call, Id>;
  template <int Id>
  [[gnu::always_inline]] static inline void multiply(values& all, float const* left) {
    by_product<Id>::template multiply<0>(
        all.packed + first_packed<Id>, left,
        [&]<int R>(value const& sum) __attribute__((always_inline)) { all.registers[first_register<Id> + R] = sum; });
  }
};

/// True if the forward step of a call is inlined: one sample of a model that only predicts, whole, on one thread, in
/// floats. There, weights are packed once; larger batches are products of many rows, for which there are
/// kernels.
template <class Call>
inline constexpr bool is_inlined = [] {
  if constexpr (requires { typename Call::constants; }) {
    return false;  // a call on a tile
  } else if constexpr (Call::plan::trains || Call::batch != 1 || Call::plan::threads != 1 ||
                       is_half(Call::plan::stored) || multiplies_bfloat16<Call>) {
    return false;
  } else if constexpr (!only_infers<Call::plan::training> || !Call::plan::is_whole) {
    return false;
  } else {
    return inlined_plan<Call>::holds;
  }
}();

}  // namespace stagecraft::cpu
