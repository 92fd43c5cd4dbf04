// SPDX-License-Identifier: BSD-3-Clause
// The operations that a forward and a backward step carry out, and the values that are kept between them.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/gradients.hpp>

namespace stagecraft::operations {

/// Both steps of a differentiated trace. Cheap operations (maps, movement, random numbers) are computed again in the
/// backward step. Sums, products, rows of tables and states of loops are kept, or a function of them in their place, if
/// the backward step reads only that and it is not larger.
class steps {
 public:
  tracing::growing_array<int> forward, backward;  ///< operations in their order
  tracing::growing_array<int> kept;  ///< operations of the forward step whose results the backward step reads
  /// A weight that the forward step changes, and the copy of it that the backward step reads.
  struct old_weight {
    int weight, copy;
  };
  tracing::growing_array<old_weight> old_weights;
  /// True if the backward step reads the call's output, which is not kept once more.
  bool backward_reads_output = false;

  /// `trains` says whether there is a backward step. If gradients of some inputs are unwanted, `whole` are the steps
  /// with all gradients, and the backward step reads only values that `whole` keeps.
  constexpr steps(trace const& traced, bool trains, steps const* whole = nullptr) : traced_(&traced) {
    auto const count = traced.list.nodes.size();
    tracing::growing_array<char> live(count, 0);
    find_output();
    if (trains) {
      if (whole != nullptr)
        results_ = whole->results_;
      else
        results_.assign(traced.forward_count, 0);
      find_backward(live);
      if (whole == nullptr && find_results(live)) {
        live.assign(count, 0);
        kept.clear();
        old_weights.clear();
        backward_reads_output = false;
        find_backward(live);
      }
      for (int id = 0; id < traced.list.size(); ++id)
        if (live[id] == computed) backward.push_back(id);
    }
    live.assign(count, 0);
    for (int const id : traced.outputs) need(id, live, false);
    for (int const id : kept) need(id, live, false);
    for (int id = 0; id < traced.forward_count; ++id)
      if (traced.list.node_of(id).what.is<update>()) need(id, live, false);
    close_loops(live, false);
    for (int id = 0; id < traced.forward_count; ++id)
      if (live[id] == computed) forward.push_back(id);
  }

  /// True if the value of an operation of the forward step is the call's output.
  [[nodiscard]] constexpr bool is_output(int id) const { return id < traced_->forward_count && is_output_[id] != 0; }
  /// True if the backward step reads an input of the call.
  [[nodiscard]] constexpr bool backward_reads(int input_id) const {
    for (int const id : backward)
      if (id == input_id) return true;
    return false;
  }

 private:
  /// Marks of an operation: the step computes it, or reads its result.
  static constexpr char computed = 1, read = 2;

  constexpr void find_backward(tracing::growing_array<char>& live) {
    for (int const id : traced_->gradients)
      if (id >= 0) need(id, live, true);
    close_loops(live, true);
  }
  /// Finds functions of kept values that can be kept in their place. Returns true if there are any.
  constexpr bool find_results(tracing::growing_array<char> const& live) {
    auto const& list = traced_->list;
    tracing::growing_array<int> readers(traced_->forward_count, 0), reader(traced_->forward_count, -1);
    for (int id = 0; id < list.size(); ++id) {
      if (id < traced_->forward_count && list.node_of(id).what.is<loop>()) return false;
      if (live[id] != computed) continue;
      auto const [first, end] = operands_read_by(list.node_of(id));
      for (int i = first; i < end; ++i)
        if (int const read_one = list.operand(id, i); read_one < traced_->forward_count) {
          ++readers[read_one];
          reader[read_one] = id;
        }
    }
    bool found = false;
    for (int const id : kept) {
      int result = id;
      for (int at = id; readers[at] == 1 && reader[at] < traced_->forward_count;) {
        at = reader[at];
        if (list.node_of(at).shape.size() > list.node_of(id).shape.size()) break;
        if (!is_alias(list.node_of(at).what)) result = at;
      }
      if (result == id) continue;
      results_[result] = 1;
      found = true;
    }
    return found;
  }
  /// Finds the operation that computes the output's elements in their order, if there is one.
  constexpr void find_output() {
    is_output_.assign(traced_->forward_count, 0);
    int source = traced_->outputs[0];
    while (is_alias(traced_->list.node_of(source).what)) source = traced_->list.operand(source, 0);
    auto const& what = traced_->list.node_of(source).what;
    if (what.is_any<input, weight, constant, last>()) return;
    is_output_[source] = 1;
    for (int id = source + 1; id < traced_->forward_count; ++id)
      if (is_alias(traced_->list.node_of(id).what)) is_output_[id] = is_output_[traced_->list.operand(id, 0)];
  }
  /// True if a result of the forward step is worth its memory.
  [[nodiscard]] constexpr bool is_worth_keeping(int id) const {
    auto const& what = traced_->list.node_of(id).what;
    // What a kernel computes of all channels is small, and costs a pass over x.
    if (auto const* group = what.if_is<composite>(); group != nullptr && group->has_kernel)
      return group->name == channel_normalization::statistics || group->name == channel_normalization::sums;
    return what.is_any<reduce, product, convolution, convolution_input_gradient, convolution_filter_gradient, pooling,
                       gather, stack, last>();
  }
  /// The copy of a weight that the forward step changes, or -1.
  [[nodiscard]] constexpr int copy_of(int id) const {
    if (!traced_->list.node_of(id).what.is<weight>()) return -1;
    for (int other = id; other < traced_->forward_count; ++other)
      if (traced_->list.node_of(other).what.is<update>() && traced_->list.operand(other, 0) == id)
        return traced_->list.operand(other, 2);
    return -1;
  }
  /// Marks the operations that `id` needs; its operands stand before it.
  constexpr void need(int id, tracing::growing_array<char>& live, bool is_backward) {
    tracing::growing_array<int> open{id};
    while (!open.empty()) {
      int const next = open.back();
      open.pop_back();
      if (live[next]) continue;
      live[next] = computed;
      if (is_backward && is_output(next)) {
        live[next] = read;
        backward_reads_output = true;
        continue;
      }
      if (is_backward && next < traced_->forward_count && (results_[next] != 0 || is_worth_keeping(next))) {
        live[next] = read;
        kept.push_back(next);
        continue;
      }
      if (int const copy = is_backward ? copy_of(next) : -1; copy >= 0) {
        old_weights.push_back({next, copy});
        kept.push_back(copy);
        continue;
      }
      auto const [first, end] = operands_read_by(traced_->list.node_of(next));
      for (int i = first; i < end; ++i) open.push_back(traced_->list.operand(next, i));
    }
  }
  /// Marks all states of a loop with a result that is read: the loop runs with all of them.
  constexpr void close_loops(tracing::growing_array<char>& live, bool is_backward) {
    int const first = is_backward ? traced_->forward_count : 0;
    tracing::growing_array<int> ends;  // and the next values of states
    for (int id = first; id < traced_->list.size(); ++id) {
      auto const& what = traced_->list.node_of(id).what;
      if (what.is_any<next, loop_end>()) ends.push_back(id);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int const id : ends)
        if (live[id] == 0 && live[traced_->list.operand(id, 0)] != 0) {
          need(id, live, is_backward);
          changed = true;
        }
    }
  }

  trace const* traced_;
  tracing::growing_array<char> is_output_, results_;
};

}  // namespace stagecraft::operations
