// SPDX-License-Identifier: BSD-3-Clause
// The forward step of a layer as straight code: a call of a loop for each operation of its plan, with shapes and places
// as constants. Nothing of the plan is left at run time.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/predict/byte_loops.hpp>
#include <stagecraft/predict/constant_weight.hpp>
#include <stagecraft/predict/loops.hpp>

namespace stagecraft::predictors {

/// The memory that a step reads and writes: tensors of one sample, and the states of the layer.
struct step_memory {
  float const* const* inputs = nullptr;
  float* output = nullptr;
  float* workspace = nullptr;
  rounded_number* image = nullptr;  ///< the rounded input of a product or convolution
  float* const* states = nullptr;   ///< by the number of the weight; null where it is none
  int trips[operations::loop::most_nested]{};
};

/// `Plan`: a constant of frozen_plan for one sample. `Weights::of(index)`: the constant_weight of a weight of the
/// layer; `Weights::is_state(index)`: whether the predictor's memory has it instead.
template <auto const& Plan, class Weights>
class list_steps {
  using extents = operations::extents;
  using storage = operations::storage;

  template <class What>
  static constexpr bool is(int id) {
    return Plan.nodes[id].what.template is<What>();
  }
  template <class What>
  static constexpr auto const& as(int id) {
    return Plan.nodes[id].what.template as<What>();
  }
  static constexpr int operand(int id, int index) { return operations::operand_of(Plan, id, index); }
  static constexpr extents const& shape_of(int id) { return Plan.nodes[id].shape; }
  static constexpr int size_of(int id) { return static_cast<int>(shape_of(id).size()); }
  static constexpr int count = static_cast<int>(Plan.forward.size());

  // Products read columns of a weight where it lies.

  /// Columns of a matrix of weights, which products alone read: they are not copied.
  static constexpr bool is_part_of_weight(int id) {
    if (!is<operations::slice>(id) || shape_of(id).rank != 2) return false;
    auto const& slice = as<operations::slice>(id);
    if (slice.step != 1 || Plan.forward_places[operand(id, 0)].in != storage::weight ||
        shape_of(operand(id, 0)).rank != 2)
      return false;
    for (int const other : Plan.forward)
      for (int i = 0; i < Plan.nodes[other].operand_count; ++i)
        if (operand(other, i) == id &&
            !(is<operations::product>(other) && i == 1 && !as<operations::product>(other).transpose_b))
          return false;
    return true;
  }
  static constexpr int weight_of(int id) { return is_part_of_weight(id) ? operand(id, 0) : id; }

  /// The weight that a product or convolution reads as bytes; -1 if it reads floats.
  static constexpr int bytes_of(int id) {
    auto const& place = Plan.forward_places[weight_of(id)];
    return place.in == storage::weight && Weights::has_bytes(place.index) ? place.index : -1;
  }

  /// Its loops, if a product or convolution is computed with whole numbers.
  static constexpr byte_loops byte_loops_of(int id) {
    extents const &x = shape_of(operand(id, 0)), &y = shape_of(id);
    if (is<operations::product>(id)) return loops_of_product(size_of(id) / y[-1], x[-1], y[-1]);
    return loops_of_convolution(window_loops(as<operations::convolution>(id).windows, x, y));
  }
  /// True for products of all rows with one matrix of bytes, and for convolutions without groups, if users want it.
  static constexpr bool is_of_whole_numbers(int id) {
    if (!Weights::with_whole_numbers || !(is<operations::product>(id) || is<operations::convolution>(id)) ||
        bytes_of(operand(id, 1)) < 0)
      return false;
    if (is<operations::convolution>(id)) return as<operations::convolution>(id).groups == 1 && byte_loops_of(id).fits();
    extents const &x = shape_of(operand(id, 0)), &y = shape_of(id);
    auto const& what = as<operations::product>(id);
    return !what.transpose_a && !what.transpose_b && x.size() / x[-1] == y.size() / y[-1] && byte_loops_of(id).fits();
  }

 public:
  /// The first weight that is stored as bytes and that something else than a product or convolution reads, or a product
  /// reads otherwise than row by row; -1 if there is none.
  static constexpr int misread_bytes = [] {
    for (int const id : Plan.forward)
      for (int i = 0; i < Plan.nodes[id].operand_count; ++i) {
        int const from = operand(id, i);
        auto const& place = Plan.forward_places[from];
        if (place.in != storage::weight || !Weights::has_bytes(place.index) || is_alias(Plan.nodes[id].what)) continue;
        bool const is_factor =
            i == 1 &&
            ((is<operations::product>(id) && !as<operations::product>(id).transpose_b && shape_of(from).rank == 2) ||
             is<operations::convolution>(id));
        bool const has_its_columns = shape_of(from).rank > 0 && shape_of(from)[-1] == Weights::columns_of(place.index);
        if (!has_its_columns || !(is_factor || is_part_of_weight(id))) return place.index;
      }
    return -1;
  }();
  static constexpr int workspace = static_cast<int>(Plan.forward_workspace + Plan.forward_sample_floats);
  /// Numbers of the largest image of a product or convolution that is computed with whole numbers.
  static constexpr int image = [] {
    int most = 0;
    for (int const id : Plan.forward)
      if (is_of_whole_numbers(id)) {
        int const numbers = byte_loops_of(id).numbers();
        if (numbers > most) most = numbers;
      }
    return most;
  }();
  /// True if the result is an input as it is.
  static constexpr bool is_input = Plan.forward_places[Plan.output].in == storage::input;

  static void forward(step_memory& memory) {
    run<0, count, 0>(memory);
    if constexpr (Plan.forward_places[Plan.output].in != storage::output && !is_input)
      copy(address<Plan.output>(memory), memory.output, size_of(Plan.output));
    update<0>(memory);
  }

 private:
  /// The numbers of a constant, which products and maps read like others.
  template <int Id>
  static constexpr float constant_number = as<operations::constant>(Id).value;

  template <int Id>
  static float const* address(step_memory const& memory) {
    constexpr auto place = Plan.forward_places[Id];
    if constexpr (place.in == storage::constant)
      return &constant_number<place.index>;
    else if constexpr (place.in == storage::input)
      return memory.inputs[place.index];
    else if constexpr (place.in == storage::weight && Weights::is_state(place.index))
      return memory.states[place.index];
    else if constexpr (place.in == storage::weight)
      return Weights::of(place.index).floats;
    else
      return written<Id>(memory);
  }
  template <int Id>
  static float* written(step_memory const& memory) {
    constexpr auto place = Plan.forward_places[Id];
    if constexpr (place.in == storage::output)
      return memory.output;
    else if constexpr (place.in == storage::samples)
      return memory.workspace + Plan.forward_workspace + place.offset;
    else
      return memory.workspace + place.offset;
  }
  template <int Id, int Index>
  static float const* x(step_memory const& memory) {
    return address<operand(Id, Index)>(memory);
  }

  static constexpr int end_of_loop(int id) {
    for (int i = 0; i < count; ++i)
      if (is<operations::loop_end>(Plan.forward[i]) && operand(Plan.forward[i], 0) == id) return i;
    return count;
  }
  /// The number of loops that stand around a loop.
  static constexpr int depth_of(int loop) {
    int depth = 0;
    for (int i = 0; i < count && Plan.forward[i] != loop; ++i) {
      if (is<operations::loop>(Plan.forward[i])) ++depth;
      if (is<operations::loop_end>(Plan.forward[i])) --depth;
    }
    return depth;
  }

  /// The operations [Position, End) of the order, within `Depth` loops.
  template <int Position, int End, int Depth>
  static inline void run(step_memory& memory) {
    if constexpr (Position < End) {
      constexpr int id = Plan.forward[Position];
      if constexpr (is<operations::loop>(id)) {
        constexpr int end = end_of_loop(id);
        for (int& trip = memory.trips[Depth] = 0; trip < as<operations::loop>(id).trips; ++trip) {
          run<Position + 1, end, Depth + 1>(memory);
          hand_on<Position + 1, end, id>(memory);
        }
        run<end + 1, End, Depth>(memory);
      } else if constexpr (End - Position == 1) {
        step<id>(memory);
      } else {
        // Halves: compilers limit how deep templates stand in each other. A loop is not cut.
        constexpr int middle = middle_of(Position, End);
        if constexpr (middle == End) {
          step<id>(memory);
          run<Position + 1, End, Depth>(memory);
        } else {
          run<Position, middle, Depth>(memory);
          run<middle, End, Depth>(memory);
        }
      }
    }
  }
  /// A place near the middle that is in no loop of the range; `end` if there is none.
  static constexpr int middle_of(int begin, int end) {
    int depth = 0;
    for (int i = begin; i < end; ++i) {
      if (depth == 0 && i > begin && 2 * i >= begin + end) return i;
      if (is<operations::loop>(Plan.forward[i])) ++depth;
      if (is<operations::loop_end>(Plan.forward[i])) --depth;
    }
    return end;
  }
  /// Every state of a loop has been read: now it may change.
  template <int Position, int End, int Loop>
  static inline void hand_on(step_memory& memory) {
    if constexpr (Position < End) {
      constexpr int id = Plan.forward[Position];
      if constexpr (is<operations::next>(id))
        if constexpr (operand(id, 0) == Loop) copy(address<id>(memory), written<operand(id, 1)>(memory), size_of(id));
      hand_on<Position + 1, End, Loop>(memory);
    }
  }
  template <std::size_t Index>
  static inline void update(step_memory& memory) {
    if constexpr (Index < Plan.updates.size()) {
      constexpr auto each = Plan.updates[Index];
      copy(address<each.value>(memory), memory.states[each.weight], size_of(each.value));
      update<Index + 1>(memory);
    }
  }

  template <int Id>
  static inline void step([[maybe_unused]] step_memory& memory) {
    constexpr auto const& what = Plan.nodes[Id].what;
    if constexpr (is_alias(what) || what.template is<operations::input>() || what.template is<operations::weight>() ||
                  what.template is<operations::constant>() || what.template is<operations::update>() ||
                  is_part_of_weight(Id)) {
    } else if constexpr (is<operations::map>(Id)) {
      constexpr int operands = Plan.nodes[Id].operand_count;
      static constexpr auto loops = map_axes(Id);
      float const* const a = x<Id, 0>(memory);
      map_loop<as<operations::map>(Id).apply>(loops, written<Id>(memory), a, x<Id, (operands > 1 ? 1 : 0)>(memory),
                                              x<Id, (operands > 2 ? 2 : 0)>(memory));
    } else if constexpr (is<operations::reduce>(Id)) {
      static constexpr auto loops = reduced_axes(shape_of(Id), shape_of(operand(Id, 0)), as<operations::reduce>(Id));
      reduce_loop<as<operations::reduce>(Id).by == operations::reduction::sum>(loops, written<Id>(memory), size_of(Id),
                                                                               x<Id, 0>(memory));
    } else if constexpr (is_of_whole_numbers(Id)) {
      static constexpr byte_loops loops = byte_loops_of(Id);
      constexpr int right = operand(Id, 1), inner = shape_of(weight_of(right))[-1];
      constexpr int column = is_part_of_weight(right) && as<operations::slice>(right).axis == 1 ? offset_of(right) : 0;
      float const step = make_image<loops>(x<Id, 0>(memory), memory.image);
      multiply_bytes<loops, Weights, bytes_of(right), offset_of(right), inner, column>(memory.image, step,
                                                                                       written<Id>(memory));
    } else if constexpr (is<operations::product>(Id)) {
      multiply<Id>(memory);
    } else if constexpr (is<operations::convolution>(Id)) {
      static constexpr window_loops loops(as<operations::convolution>(Id).windows, shape_of(operand(Id, 0)),
                                          shape_of(Id), as<operations::convolution>(Id).groups);
      convolution_loop(loops, x<Id, 0>(memory), factor<operand(Id, 1)>(memory), written<Id>(memory));
    } else if constexpr (is<operations::convolution_input_gradient>(Id)) {
      static constexpr window_loops loops(as<operations::convolution_input_gradient>(Id).windows, shape_of(Id),
                                          shape_of(operand(Id, 0)),
                                          as<operations::convolution_input_gradient>(Id).groups);
      transposed_convolution_loop(loops, x<Id, 0>(memory), x<Id, 1>(memory), written<Id>(memory));
    } else if constexpr (is<operations::pooling>(Id)) {
      static constexpr window_loops loops(as<operations::pooling>(Id).windows, shape_of(operand(Id, 0)), shape_of(Id));
      pooling_loop<as<operations::pooling>(Id).kind == operations::pooling_kind::max>(loops, x<Id, 0>(memory),
                                                                                      written<Id>(memory));
    } else if constexpr (is<operations::iota>(Id)) {
      constexpr int inner = stride(shape_of(Id), as<operations::iota>(Id).axis),
                    length = shape_of(Id)[as<operations::iota>(Id).axis];
      for (int i = 0; i < size_of(Id); ++i) written<Id>(memory)[i] = static_cast<float>(i / inner % length);
    } else {
      move<Id>(memory);
    }
  }

  /// Operations that compute nothing, and those of loops.
  template <int Id>
  static inline void move(step_memory& memory) {
    if constexpr (is<operations::broadcast>(Id) || is<operations::transpose>(Id)) {
      static constexpr auto loops =
          moved_axes<is<operations::transpose>(Id)>(shape_of(Id), shape_of(operand(Id, 0)), Plan.nodes[Id].what);
      copy_loop(loops, written<Id>(memory), x<Id, 0>(memory));
    } else if constexpr (is<operations::slice>(Id)) {
      constexpr auto what = as<operations::slice>(Id);
      static constexpr auto loops = part_axes(shape_of(Id), shape_of(operand(Id, 0)), what.axis, what.step, true);
      copy_loop(loops, written<Id>(memory),
                x<Id, 0>(memory) + what.begin * stride(shape_of(operand(Id, 0)), what.axis));
    } else if constexpr (is<operations::pad>(Id)) {
      constexpr auto what = as<operations::pad>(Id);
      static constexpr auto loops = part_axes(shape_of(operand(Id, 0)), shape_of(Id), what.axis, what.step, false);
      fill(written<Id>(memory), size_of(Id), 0.0F);
      copy_loop(loops, written<Id>(memory) + what.begin * stride(shape_of(Id), what.axis), x<Id, 0>(memory));
    } else if constexpr (is<operations::concatenate>(Id)) {
      join<Id, 0, 0>(memory);
    } else if constexpr (is<operations::gather>(Id)) {
      constexpr int rows = shape_of(operand(Id, 0))[0];
      gather_loop(x<Id, 0>(memory), rows, size_of(operand(Id, 0)) / rows, x<Id, 1>(memory), size_of(operand(Id, 1)),
                  written<Id>(memory));
    } else if constexpr (is<operations::carry>(Id)) {
      if (memory.trips[depth_of(operand(Id, 0))] == 0) copy(x<Id, 1>(memory), written<Id>(memory), size_of(Id));
    } else if constexpr (is<operations::next>(Id)) {
      copy(x<Id, 2>(memory), written<Id>(memory), size_of(Id));
    } else if constexpr (is<operations::last>(Id)) {
      copy(x<Id, 1>(memory), written<Id>(memory), size_of(Id));
    } else if constexpr (is<operations::at>(Id)) {
      constexpr auto what = as<operations::at>(Id);
      static constexpr auto loops =
          part_axes(with_one(shape_of(Id), what.axis), shape_of(operand(Id, 1)), what.axis, 1, true);
      copy_loop(loops, written<Id>(memory), x<Id, 1>(memory) + place_of_trip<Id>(memory, what, operand(Id, 1)));
    } else {
      static_assert(is<operations::stack>(Id));
      constexpr auto what = as<operations::stack>(Id);
      static constexpr auto loops =
          part_axes(with_one(shape_of(operand(Id, 1)), what.axis), shape_of(Id), what.axis, 1, false);
      copy_loop(loops, written<Id>(memory) + place_of_trip<Id>(memory, what, Id), x<Id, 1>(memory));
    }
  }
  template <int Id, int Index, int Begin>
  static inline void join(step_memory& memory) {
    if constexpr (Index < Plan.nodes[Id].operand_count) {
      constexpr int from = operand(Id, Index), axis = as<operations::concatenate>(Id).axis;
      static constexpr auto loops = part_axes(shape_of(from), shape_of(Id), axis, 1, false);
      copy_loop(loops, written<Id>(memory) + Begin * stride(shape_of(Id), axis), address<from>(memory));
      join<Id, Index + 1, Begin + shape_of(from)[axis]>(memory);
    }
  }
  /// Floats from the begin of a tensor of all trips to the place of this one.
  template <int Id, class What>
  static int place_of_trip(step_memory const& memory, What const& what, int all) {
    constexpr int loop = operand(Id, 0), depth = depth_of(loop), trips = as<operations::loop>(loop).trips;
    int const trip = memory.trips[depth];
    return (what.reversed ? trips - 1 - trip : trip) * stride(shape_of(all), what.axis);
  }

  /// The right factor of a product, or a filter, as it is stored.
  template <int From>
  static auto factor(step_memory const& memory) {
    constexpr int weight = bytes_of(From);
    constexpr int offset = offset_of(From);
    if constexpr (weight >= 0) {
      constexpr int column = is_part_of_weight(From) && as<operations::slice>(From).axis == 1 ? offset : 0;
      return byte_numbers{Weights::of(weight).bytes + offset, Weights::of(weight).scales + column};
    } else {
      return float_numbers{address<weight_of(From)>(memory) + offset};
    }
  }
  /// Where columns or rows of a weight begin that are read where it lies.
  static constexpr int offset_of(int id) {
    if (!is_part_of_weight(id)) return 0;
    auto const& slice = as<operations::slice>(id);
    return slice.begin * stride(shape_of(operand(id, 0)), slice.axis);
  }
  template <int Id>
  static inline void multiply(step_memory& memory) {
    constexpr auto what = as<operations::product>(Id);
    constexpr int left = operand(Id, 0), right = operand(Id, 1);
    [[maybe_unused]] static constexpr extents a = shape_of(left), b = shape_of(right), y = shape_of(Id);
    constexpr extents whole = shape_of(weight_of(right));
    static constexpr product_loops one{.rows = y[-2],
                                       .inner = what.inner(a),
                                       .columns = y[-1],
                                       .a_row = what.transpose_a ? 1 : a[-1],
                                       .a_inner = what.transpose_a ? a[-1] : 1,
                                       .b_inner = what.transpose_b ? 1 : whole[-1],
                                       .b_column = what.transpose_b ? whole[-1] : 1};
    auto const run = [&](int in_y, int in_a, int in_b) {
      product_loop<!what.transpose_b>(one, x<Id, 0>(memory) + in_a, factor<right>(memory).from(in_b),
                                      written<Id>(memory) + in_y);
    };
    if constexpr (y.rank == 2) {
      run(0, 0, 0);
    } else {
      static constexpr auto places = [] {
        nested_loops<3> result;
        for (int axis = 0; axis + 2 < y.rank; ++axis)
          result.add(y[axis], {stride(y, axis), repeating_stride(a, axis, y.rank), repeating_stride(b, axis, y.rank)});
        return result;
      }();
      places.for_each_row([&](int const* at) {
        for (int i = 0; i < places.row_length(); ++i)
          run(at[0] + i * places.row_stride(0), at[1] + i * places.row_stride(1), at[2] + i * places.row_stride(2));
      });
    }
  }

  // The loops of an operation, in constant evaluation.

  static constexpr nested_loops<4> map_axes(int id) {
    nested_loops<4> loops;
    int const operands = Plan.nodes[id].operand_count, rank = shape_of(id).rank;
    for (int axis = 0; axis < rank; ++axis) {
      auto const of = [&](int i) { return repeating_stride(shape_of(operand(id, i < operands ? i : 0)), axis, rank); };
      loops.add(shape_of(id)[axis], {stride(shape_of(id), axis), of(0), of(1), of(2)});
    }
    return loops;
  }
};

}  // namespace stagecraft::predictors
