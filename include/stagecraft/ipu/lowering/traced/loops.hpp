// SPDX-License-Identifier: BSD-3-Clause
// Traced loops as loops of tasks, whose tensors lie on the tiles once.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/program_builder.hpp>

namespace stagecraft::tiles {

/// The loops that are open at an operation.
template <class Program>
class traced_loops {
 public:
  constexpr explicit traced_loops(Program& program) : program_(&program) {}

  /// States have their first values before the first trip. Weights and the like are converted once for all trips.
  constexpr void begin(operations::loop const& what, int id, std::size_t position) {
    Program& program = *program_;
    for (int const inner : program.order().subspan(position + 1)) {
      operations::operation const& inside = program.node_of(inner).what;
      if (inside.is<operations::loop_end>() && program.operand(inner, 0) == id) break;
      if (inside.is<operations::carry>() && program.operand(inner, 0) == id)
        begin_state(inner);
      else if (inside.is<operations::product>())
        for (int k = 0; k < 2; ++k)
          if (int const operand = program.operand(inner, k); operand < id && program.value_of(operand).tensor >= 0)
            static_cast<void>(program.tensor_of(operand, program.options.type));
    }
    ++program.open_loops;
    open_.push_back({id, program.loops.size(), {}, {}});
    program.loops.push_back({static_cast<int>(program.tasks.size()), 0, what.trips});
  }

  /// Reads the element of an axis that belongs to the trip.
  constexpr void lower(operations::at const& what, int id) {
    Program& program = *program_;
    int const operand = program.operand(id, 1);
    auto const& shape = program.node_of(operand).shape;
    if (program.value_of(operand).is_number) {
      program.values[id] = program.value_of(operand);
      return;
    }
    merged_axes axes;
    for (int axis = 0; axis < shape.rank; ++axis)
      if (axis != what.axis) axes.add(shape[axis], stride_of_axis(shape, axis));
    std::int64_t const stride = stride_of_axis(shape, what.axis);
    int const result = program.result(id);
    add_rearrange(program, program.tensor_of(operand, program.type_of(result)), result, axes,
                  what.reversed ? (shape[what.axis] - 1) * stride : 0);
    move_last(id, false, what.reversed ? -stride : stride);
  }
  /// Writes the results of trips one after the other while the loop runs.
  constexpr void lower(operations::stack const& what, int id) {
    Program& program = *program_;
    auto const& shape = program.node_of(id).shape;
    std::int64_t const trips = shape[what.axis], each = shape.size() / trips;
    bool const is_in_order = elements_of_axes(shape, 0, what.axis) == 1;
    dtype const type = program.types[id];
    int const store = is_in_order ? program.result(id) : program.temporary(shape.size(), type);
    rearranged_box box{.extents = {1, 1, trips, each}, .counts = {1, 1, 1, each}};
    box.first = {0, 0, what.reversed ? trips - 1 : 0, 0};
    box.source_stride = {0, 0, 0, 1};
    int const source = program.tensor_of(program.operand(id, 1), program.type_of(store));
    program.add([&](lowered_step& step) { append_rearrange(step, rearrange_function::copy, source, store, box); });
    move_last(id, true, what.reversed ? -1 : 1);
    if (!is_in_order) open_.back().stacks.push_back({id, store});
  }
  constexpr void lower(operations::next const&, int id) { open_.back().nexts.push_back(id); }

  /// Ends a loop: states change after the trip has read all of them, and stacked results get their axes in order.
  constexpr void end() {
    Program& program = *program_;
    auto const ended = open_.back();
    growing_array<int> from;
    for (int const id : ended.nexts) {
      int const state = program.operand(id, 1), value = program.operand(id, 2);
      int const to = program.value_of(state).tensor;
      int tensor = program.value_of(value).is_number ? -1 : program.tensor_of(value);
      // Another state may have changed before it is read.
      for (int const other : ended.nexts)
        if (tensor >= 0 && tensor != to && tensor == program.value_of(program.operand(other, 1)).tensor) {
          int const old = program.temporary(program.node_of(value).shape.size(), program.type_of(tensor));
          program.copy(tensor, old);
          tensor = old;
          break;
        }
      from.push_back(tensor);
    }
    for (std::size_t i = 0; i < ended.nexts.size(); ++i) {
      int const state = program.operand(ended.nexts[i], 1), value = program.operand(ended.nexts[i], 2);
      int const to = program.value_of(state).tensor;
      if (from[i] < 0)
        program.fill(to, program.value_of(value).number);
      else if (from[i] != to)
        program.copy(from[i], to);
    }
    open_.pop_back();
    --program.open_loops;
    program.loops[ended.loop].end = static_cast<int>(program.tasks.size());
    for (auto const& [id, store] : ended.stacks) put_in_order(id, store);
  }

 private:
  struct stored {
    int id = -1, tensor = -1;
  };
  struct open_loop {
    int id = -1;
    std::size_t loop = 0;  ///< number of the loop in the task list
    growing_array<int> nexts;
    growing_array<stored> stacks;
  };

  constexpr void begin_state(int id) {
    Program& program = *program_;
    auto const& value = program.value_of(program.operand(id, 1));
    int const state = program.result(id);
    if (value.is_number)
      program.fill(state, value.number);
    else
      program.copy(value.tensor, state);
  }
  /// Lets the box of the last task move with the loop of operation `id`.
  constexpr void move_last(int id, bool in_result, std::int64_t step) {
    int depth = static_cast<int>(open_.size()) - 1;
    while (depth > 0 && open_[depth].id != program_->operand(id, 0)) --depth;
    if (program_->failed) return;
    auto& moving = program_->tasks.back().what.template as<rearrangement>();
    moving.step = step;
    moving.loop = depth;
    moving.moves_in_result = in_result ? 1 : 0;
  }
  constexpr void put_in_order(int id, int store) {
    operations::operation const& stacked = program_->node_of(id).what;
    auto const& what = stacked.as<operations::stack>();
    auto const& shape = program_->node_of(id).shape;
    std::int64_t const each = shape.size() / shape[what.axis];
    merged_axes axes;
    for (int axis = 0; axis < shape.rank; ++axis)
      axes.add(shape[axis], axis == what.axis ? each
                                              : elements_of_axes(shape, axis + 1, shape.rank) /
                                                    (axis < what.axis ? shape[what.axis] : 1));
    add_rearrange(*program_, store, program_->result(id), axes);
  }

  Program* program_;
  growing_array<open_loop> open_;
};

}  // namespace stagecraft::tiles
