// SPDX-License-Identifier: BSD-3-Clause
// A traced layer's forward or backward step as a list of tasks, and the places of its temporary tensors and copies.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/lowering/traced/elementwise.hpp>
#include <stagecraft/ipu/lowering/traced/loops.hpp>
#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/products.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// Places temporary tensors like step_layout: a tensor has its place from the first task that names it to the last, in
/// the first gap that fits. Tensors from outside a loop stay until its end; tensors that are read after it are there
/// from its begin.
template <class = void>
class task_list_layout {
 public:
  growing_array<std::int64_t> copies;

  /// Sets the offsets of `tensors`.
  constexpr task_list_layout(tracing::array_view<task_list_tensor> tensors, tracing::array_view<task const> tasks,
                             tracing::array_view<tile_loop const> loops, ipu_target const& target)
      : copies(tasks.size(), 0) {
    int const count = static_cast<int>(tasks.size());
    growing_array<int> first(tensors.size(), count), last(tensors.size(), -1);
    for (int k = 0; k < count; ++k) {
      auto const& task = tasks[k];
      auto const use = [&](int tensor) {
        if (k < first[tensor]) first[tensor] = k;
        last[tensor] = k;
      };
      for (int i = 0; i < task.input_count; ++i) use(task.inputs[i]);
      for (int i = 0; i < task.output_count; ++i) {
        use(task.outputs[i]);
        tensors[task.outputs[i]].written = true;
      }
    }
    growing_array<growing_array<int>> begins(tasks.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].given >= 0 || last[i] < 0) continue;
      for (std::size_t k = loops.size(); k-- > 0;) {  // inner ones first
        auto const& loop = loops[k];
        if (loop.contains(first[i]) && last[i] >= loop.end) first[i] = loop.begin;
        if (loop.contains(last[i]) && first[i] < loop.begin) last[i] = loop.end - 1;
      }
      begins[first[i]].push_back(static_cast<int>(i));
    }
    growing_array<placed> alive;
    for (int k = 0; k < count; ++k) {
      std::size_t kept = 0;
      for (auto const& one : alive)
        if (one.last >= k) alive[kept++] = one;
      alive.resize(kept);
      for (int const tensor : begins[k]) {
        placed const one{0, bytes_on_tile(tensors[tensor].tensor, target), last[tensor]};
        tensors[tensor].offset = insert(alive, one);
      }
      if (!alive.empty())
        for (auto const& one : alive) copies[k] = larger(copies[k], one.offset + one.bytes);
    }
  }

 private:
  struct placed {
    std::int64_t offset, bytes;
    int last;
  };

  /// Inserts a tensor into the lowest gap between those that are alive, which are sorted by offset.
  static constexpr std::int64_t insert(growing_array<placed>& alive, placed one) {
    std::size_t place = 0;
    while (place < alive.size() && alive[place].offset < one.offset + one.bytes) {
      one.offset = alive[place].offset + alive[place].bytes;
      ++place;
    }
    alive.push_back(one);
    for (std::size_t i = alive.size() - 1; i > place; --i) {
      placed const moved = alive[i - 1];
      alive[i - 1] = alive[i];
      alive[i] = moved;
    }
    return one.offset;
  }
};

/// Walks the operations of a step in their order. It and all that it uses are templates, so that programs without such
/// layers need not compile it.
template <class Unused = void>
class traced_steps {
  // This stands before its caller, since Clang would instantiate it too late for constants.
  template <class What>
  constexpr void lower(What const& what) {
    lower_traced(builder, what, id_);
  }

 public:
  task_list_builder<Unused> builder;
  growing_array<std::int64_t> copies;  ///< begin of the copies of each task

  /// `updates`: weights that a forward step writes. `wanted`: true for each gradient that a backward step writes, first
  /// those of the `inputs` inputs.
  constexpr traced_steps(operations::plan_view const& plan, traced_options const& options, bool is_backward,
                         tracing::array_view<operations::weight_update const> updates,
                         tracing::array_view<bool const> wanted, int inputs)
      : builder(plan, options, is_backward), loops_(builder), inputs_(inputs), is_whole_(plan.nodes.size(), 0) {
    if (is_backward) {
      name_gradients(wanted);
      find_kept();
    } else {
      name_output();
    }
    find_whole_composites();
    auto const order = builder.order();
    for (position_ = 0; position_ < order.size() && !builder.failed; ++position_) {
      id_ = order[position_];
      if (is_whole_[id_] == inside) continue;
      builder.node_of(id_).what.visit([&](auto const& what) { lower(what); });
    }
    if (builder.failed) return;
    if (is_backward)
      write_gradients(wanted);
    else
      write_output(updates);
  }
  /// Sets the places of temporary tensors.
  constexpr void lay_out() {
    task_list_layout<Unused> layout(builder.tensors, builder.tasks, builder.loops, builder.target());
    copies = std::move(layout.copies);
  }

 private:
  static constexpr char inside = 1, whole = 2;

  [[nodiscard]] constexpr dtype type() const { return builder.options.type; }
  [[nodiscard]] constexpr std::int64_t elements(int id) const { return builder.node_of(id).shape.size(); }
  constexpr void set(int tensor) { builder.values[id_].tensor = tensor; }

  constexpr void lower(operations::input const& what) {
    set(what.index < inputs_ ? builder.given(tensor_role::input, what.index, builder.types[id_], elements(id_))
                             : builder.given(tensor_role::output_gradient, 0, type(), elements(id_)));
  }
  /// Reads a weight. A backward step reads the old value if the forward step has changed it.
  constexpr void lower(operations::weight const& what) {
    if (builder.is_backward && builder.plan.backward_places[id_].in == operations::storage::kept)
      return set(saved(id_));
    set(builder.given(tensor_role::weight, what.index, builder.options.variable_type, elements(id_)));
  }
  constexpr void lower(operations::constant const& what) { builder.values[id_] = {-1, true, what.value}; }
  constexpr void lower(operations::update const&) {}  // when the step has ended
  /// Lowers a composite, whose result is that of its last operation.
  constexpr void lower(operations::composite const& what) {
    if (is_whole_[id_] != whole) return lower_traced(builder, what, id_);
    int const result = builder.result(root_of(id_));
    set(result);
    auto const read = [&](int index) { return builder.tensor_of(builder.operand(id_, index + 1), type()); };
    auto const function = activations::detail::activation_of(what);
    if (what.name == "softmax") {
      rows const of = rows_of_softmax(what, id_);
      int const x = read(0), dy = what.is_gradient ? read(1) : -1;
      builder.add([&](lowered_step& step) {
        if (what.is_gradient)
          append_softmax_gradient(step, dy, x, result, of.outer, of.columns, of.inner);
        else
          append_softmax(step, x, result, of.outer, of.columns, of.inner);
      });
    } else if (what.name == "dropout") {
      auto const& drawn = builder.node_of(builder.operand(id_, 1));
      int const x = read(1);
      builder.add([&](lowered_step& step) {
        append_dropout(step, x, result, what.numbers[0], drawn.what.template as<operations::random>().seed,
                       what.is_gradient, elements(id_) / drawn.shape.size(), drawn.shape[-1]);
      });
    } else {
      int const known = read(0), dy = what.is_gradient ? read(1) : -1;
      builder.add([&](lowered_step& step) {
        if (what.is_gradient)
          append_activation_gradient_map(step, function, dy, known, result);
        else
          append_activation_map(step, function, known, result);
      });
    }
  }
  constexpr void lower(operations::loop const& what) { loops_.begin(what, id_, position_); }
  constexpr void lower(operations::carry const&) {}  // has been made before the loop
  constexpr void lower(operations::next const& what) { loops_.lower(what, id_); }
  constexpr void lower(operations::at const& what) { loops_.lower(what, id_); }
  constexpr void lower(operations::stack const& what) { loops_.lower(what, id_); }
  constexpr void lower(operations::loop_end const&) { loops_.end(); }
  constexpr void lower(operations::last const&) {
    int const state = builder.value_of(builder.operand(id_, 1)).tensor;
    if (!builder.is_kept(id_)) return set(state);
    builder.copy(state, builder.result(id_));
  }

  /// The operation whose tensor this value is, or -1 if that cannot be chosen.
  [[nodiscard]] constexpr int source_of(int id) const {
    while (builder.is_same_as_operand(id)) id = builder.operand(id, 0);
    operations::operation const& what = builder.node_of(id).what;
    bool const has_own = what.is_any<operations::input, operations::weight, operations::constant, operations::carry,
                                     operations::last, operations::broadcast, operations::transpose>() ||
                         builder.is_kept(id);
    if (has_own || builder.targets[id] >= 0) return -1;
    for (int const computed : builder.order())
      if (computed == id) return id;
    return -1;
  }
  constexpr void name(int id, int tensor) {
    int const source = source_of(id);
    if (source < 0) return;
    builder.targets[source] = tensor;
    builder.types[source] = builder.type_of(tensor);
  }
  constexpr int output() { return builder.given(tensor_role::output, 0, type(), elements(builder.plan.output)); }
  constexpr int gradient(int index) {
    auto const id = builder.plan.gradients[index];
    std::int64_t const count = id >= 0 ? elements(id) : elements_of_leaf(index);
    return index < inputs_ ? builder.given(tensor_role::input_gradient, index, type(), count)
                           : builder.given(tensor_role::accumulator, index - inputs_, type(), count);
  }
  [[nodiscard]] constexpr std::int64_t elements_of_leaf(int index) const {
    for (int id = 0; id < static_cast<int>(builder.plan.nodes.size()); ++id) {
      operations::operation const& what = builder.node_of(id).what;
      auto const* input = what.if_is<operations::input>();
      auto const* weight = what.if_is<operations::weight>();
      if ((input != nullptr && input->index == index) || (weight != nullptr && weight->index + inputs_ == index))
        return elements(id);
    }
    return 0;
  }
  constexpr void name_output() { name(builder.plan.output, output()); }
  constexpr void name_gradients(tracing::array_view<bool const> wanted) {
    for (int i = 0; i < static_cast<int>(wanted.size()); ++i)
      if (int const id = builder.plan.gradients[i]; wanted[i] && id >= 0) name(id, gradient(i));
  }
  /// Finds the operands that the forward step has computed.
  constexpr void find_kept() {
    for (int const id : builder.plan.backward)
      for (int i = 0; i < builder.node_of(id).operand_count; ++i) read_kept(builder.operand(id, i));
    for (int const id : builder.plan.gradients)
      if (id >= 0) read_kept(id);
  }
  constexpr void read_kept(int id) {
    auto& value = builder.values[id];
    if (value.tensor < 0 && builder.plan.backward_places[id].in == operations::storage::output) value.tensor = output();
    if (value.tensor < 0 && builder.plan.backward_places[id].in == operations::storage::kept &&
        builder.plan.forward_places[id].in == operations::storage::kept && !builder.is_same_as_operand(id))
      value.tensor = saved(id);
  }
  constexpr int saved(int id) {
    return builder.given(tensor_role::saved, static_cast<int>(builder.plan.backward_places[id].offset),
                         builder.types[id], elements(id));
  }
  constexpr void give(int id, int tensor) {
    auto const& value = builder.value_of(id);
    if (value.is_number)
      builder.fill(tensor, value.number);
    else if (value.tensor != tensor)
      builder.copy(value.tensor, tensor);
  }
  constexpr void write_output(tracing::array_view<operations::weight_update const> updates) {
    give(builder.plan.output, output());
    for (auto const& [weight, value] : updates)
      give(value, builder.given(tensor_role::weight, weight, builder.options.variable_type, elements(value)));
  }
  constexpr void write_gradients(tracing::array_view<bool const> wanted) {
    for (int i = 0; i < static_cast<int>(wanted.size()); ++i) {
      if (!wanted[i]) continue;
      if (int const id = builder.plan.gradients[i]; id >= 0)
        give(id, gradient(i));
      else
        builder.fill(gradient(i), 0);
    }
  }

  struct rows {
    std::int64_t outer = 1, columns = 1, inner = 1;
  };
  [[nodiscard]] constexpr int root_of(int id) const {
    while (builder.is_same_as_operand(id)) id = builder.operand(id, 0);
    return id;
  }
  [[nodiscard]] constexpr rows rows_of_softmax(operations::composite const& what, int id) const {
    auto const& shape = builder.node_of(id).shape;
    int const axis = static_cast<int>(what.numbers[0]);
    return {elements_of_axes(shape, 0, axis), shape[axis], elements_of_axes(shape, axis + 1, shape.rank)};
  }
  /// True if tiles have a vertex for a composite.
  [[nodiscard]] constexpr bool is_known(operations::composite const& what, int id) const {
    if (what.name == "softmax") return rows_of_softmax(what, id).columns > 1;
    if (what.name != "dropout")
      return id - what.first > 1 && activations::detail::activation_of(what) != linear;  // else an operation is it
    // One number is drawn for each channel of a sample, as in the host's loop.
    auto const& drawn = builder.node_of(builder.operand(id, 1)).shape;
    return builder.options.draws_in_loop && drawn.size() == drawn[0] * drawn[-1];
  }
  /// Finds composites that are carried out as a whole: nothing else reads their inner values, and only the result is
  /// kept.
  constexpr void find_whole_composites() {
    bool has_whole = false;
    for (int const id : builder.order()) {
      operations::operation const& what = builder.node_of(id).what;
      auto const* group = what.if_is<operations::composite>();
      if (group == nullptr || is_whole_[id] == inside || !is_known(*group, id)) continue;
      int const root = root_of(id);
      auto const is_inside = [&](int other) { return other >= group->first && other < id; };
      bool is_closed = is_inside(root), is_computed = false;
      for (int const other : builder.order()) {
        if (is_inside(other)) {
          is_computed = is_computed || other == root;
          is_closed = is_closed && (other == root || !builder.is_kept(other));
          continue;
        }
        if (other == id) continue;
        for (int i = 0; i < builder.node_of(other).operand_count; ++i)
          is_closed = is_closed && !is_inside(builder.operand(other, i));
      }
      if (!is_closed || !is_computed) continue;
      has_whole = true;
      is_whole_[id] = whole;
      for (int const other : builder.order())
        if (is_inside(other)) is_whole_[other] = inside;
    }
    if (has_whole) skip_unread();
  }
  /// Skips random numbers that only such composites read, since these draw them.
  constexpr void skip_unread() {
    for (int const id : builder.order()) {
      operations::operation const& what = builder.node_of(id).what;
      if (!what.is<operations::random>()) continue;
      bool is_read = false;
      for (int const other : builder.order())
        for (int i = 0; i < builder.node_of(other).operand_count; ++i)
          is_read = is_read || (builder.operand(other, i) == id && is_whole_[other] == 0);
      if (!is_read) is_whole_[id] = inside;
    }
  }

  traced_loops<task_list_builder<Unused>> loops_;
  int inputs_, id_ = 0;
  std::size_t position_ = 0;
  growing_array<char> is_whole_;
};

/// Appends the tasks of a list to the step directly. `tensor_around(given)` is the step's number of a tensor that the
/// list is given.
template <class Builder, class TensorAround>
constexpr void append_tasks(lowered_step& step, Builder const& builder, TensorAround const& tensor_around) {
  growing_array<int> numbers(builder.tensors.size(), -1);
  auto const number_of = [&](int tensor) {
    auto const index = static_cast<std::size_t>(tensor);
    auto const& each = builder.tensors[index];
    if (numbers[index] < 0)
      numbers[index] =
          each.given >= 0 ? tensor_around(each.tensor) : step.temporary(each.tensor.elements, each.tensor.type);
    return numbers[index];
  };
  for (task const& each : builder.tasks) {
    auto& appended = step.add(each.what, {}, {}) = each;
    for (int i = 0; i < each.input_count; ++i) appended.inputs[i] = number_of(each.inputs[i]);
    for (int i = 0; i < each.output_count; ++i) appended.outputs[i] = number_of(each.outputs[i]);
  }
}

}  // namespace stagecraft::tiles
