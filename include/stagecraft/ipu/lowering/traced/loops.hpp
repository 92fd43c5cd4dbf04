// SPDX-License-Identifier: BSD-3-Clause
// Traced loops as loops of tasks, whose tensors lie on the tiles once.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/task_list_builder.hpp>

namespace stagecraft::tiles {

/// The loops that are open at an operation.
template <class Builder>
class traced_loops {
 public:
  constexpr explicit traced_loops(Builder& builder) : builder_(&builder) {}

  /// States have their first values before the first trip. Weights and the like are converted once for all trips.
  constexpr void begin(operations::loop const& what, int id, std::size_t position) {
    Builder& builder = *builder_;
    for (int const inner : builder.order().subspan(position + 1)) {
      operations::operation const& inside = builder.node_of(inner).what;
      if (inside.is<operations::loop_end>() && builder.operand(inner, 0) == id) break;
      if (inside.is<operations::carry>() && builder.operand(inner, 0) == id)
        begin_state(inner);
      else if (inside.is<operations::product>())
        for (int k = 0; k < 2; ++k)
          if (int const operand = builder.operand(inner, k); operand < id && builder.value_of(operand).tensor >= 0)
            static_cast<void>(builder.tensor_of(operand, builder.options.type));
    }
    ++builder.open_loops;
    open_.push_back({id, builder.loops.size(), {}, {}});
    builder.loops.push_back({static_cast<int>(builder.tasks.size()), 0, what.trips});
  }

  /// Reads the element of an axis that belongs to the trip.
  constexpr void lower(operations::at const& what, int id) {
    Builder& builder = *builder_;
    int const operand = builder.operand(id, 1);
    auto const& shape = builder.node_of(operand).shape;
    if (builder.value_of(operand).is_number) {
      builder.values[id] = builder.value_of(operand);
      return;
    }
    merged_axes axes;
    for (int axis = 0; axis < shape.rank; ++axis)
      if (axis != what.axis) axes.add(shape[axis], stride_of_axis(shape, axis));
    std::int64_t const stride = stride_of_axis(shape, what.axis);
    int const result = builder.result(id);
    add_rearrange(builder, builder.tensor_of(operand, builder.type_of(result)), result, axes,
                  what.reversed ? (shape[what.axis] - 1) * stride : 0);
    move_last(id, false, what.reversed ? -stride : stride);
  }
  /// Writes the results of trips one after the other while the loop runs.
  constexpr void lower(operations::stack const& what, int id) {
    Builder& builder = *builder_;
    auto const& shape = builder.node_of(id).shape;
    std::int64_t const trips = shape[what.axis], each = shape.size() / trips;
    bool const is_in_order = elements_of_axes(shape, 0, what.axis) == 1;
    dtype const type = builder.types[id];
    int const store = is_in_order ? builder.result(id) : builder.temporary(shape.size(), type);
    rearranged_box box{.extents = {1, 1, trips, each}, .counts = {1, 1, 1, each}};
    box.first = {0, 0, what.reversed ? trips - 1 : 0, 0};
    box.source_stride = {0, 0, 0, 1};
    int const source = builder.tensor_of(builder.operand(id, 1), builder.type_of(store));
    builder.add([&](lowered_step& step) { append_rearrange(step, rearrange_function::copy, source, store, box); });
    move_last(id, true, what.reversed ? -1 : 1);
    if (!is_in_order) open_.back().stacks.push_back({id, store});
  }
  constexpr void lower(operations::next const&, int id) { open_.back().nexts.push_back(id); }

  /// Ends a loop: states change after the trip has read all of them, and stacked results get their axes in order.
  constexpr void end() {
    Builder& builder = *builder_;
    auto const ended = open_.back();
    growing_array<int> from;
    for (int const id : ended.nexts) {
      int const state = builder.operand(id, 1), value = builder.operand(id, 2);
      int const to = builder.value_of(state).tensor;
      int tensor = builder.value_of(value).is_number ? -1 : builder.tensor_of(value);
      // Another state may have changed before it is read.
      for (int const other : ended.nexts)
        if (tensor >= 0 && tensor != to && tensor == builder.value_of(builder.operand(other, 1)).tensor) {
          int const old = builder.temporary(builder.node_of(value).shape.size(), builder.type_of(tensor));
          builder.copy(tensor, old);
          tensor = old;
          break;
        }
      from.push_back(tensor);
    }
    for (std::size_t i = 0; i < ended.nexts.size(); ++i) {
      int const state = builder.operand(ended.nexts[i], 1), value = builder.operand(ended.nexts[i], 2);
      int const to = builder.value_of(state).tensor;
      if (from[i] < 0)
        builder.fill(to, builder.value_of(value).number);
      else if (from[i] != to)
        builder.copy(from[i], to);
    }
    open_.pop_back();
    --builder.open_loops;
    builder.loops[ended.loop].end = static_cast<int>(builder.tasks.size());
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
    Builder& builder = *builder_;
    auto const& value = builder.value_of(builder.operand(id, 1));
    int const state = builder.result(id);
    if (value.is_number)
      builder.fill(state, value.number);
    else
      builder.copy(value.tensor, state);
  }
  /// Lets the box of the last task move with the loop of operation `id`.
  constexpr void move_last(int id, bool in_result, std::int64_t step) {
    int depth = static_cast<int>(open_.size()) - 1;
    while (depth > 0 && open_[depth].id != builder_->operand(id, 0)) --depth;
    if (builder_->failed) return;
    auto& moving = builder_->tasks.back().what.template as<rearrangement>();
    moving.step = step;
    moving.loop = depth;
    moving.moves_in_result = in_result ? 1 : 0;
  }
  constexpr void put_in_order(int id, int store) {
    operations::operation const& stacked = builder_->node_of(id).what;
    auto const& what = stacked.as<operations::stack>();
    auto const& shape = builder_->node_of(id).shape;
    std::int64_t const each = shape.size() / shape[what.axis];
    merged_axes axes;
    for (int axis = 0; axis < shape.rank; ++axis)
      axes.add(shape[axis], axis == what.axis ? each
                                              : elements_of_axes(shape, axis + 1, shape.rank) /
                                                    (axis < what.axis ? shape[what.axis] : 1));
    add_rearrange(*builder_, store, builder_->result(id), axes);
  }

  Builder* builder_;
  growing_array<open_loop> open_;
};

}  // namespace stagecraft::tiles
