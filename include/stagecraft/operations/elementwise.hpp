// SPDX-License-Identifier: BSD-3-Clause
// Finds computations whose result at each place follows from their inputs at that place, and writes them as formulas.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/formula.hpp>
#include <cstdint>

namespace stagecraft::operations {

/// Finds out whether a trace is elementwise, and returns the formulas of its result and its gradients.
///
/// Inputs and weights have as many elements as the result, or fewer, and are then repeated as `map` repeats its
/// operands; the same holds for uniform random numbers that are drawn once. A trace with sums, updates or elements that
/// change places is not elementwise.
class elementwise {
 public:
  static constexpr int most_inputs = 30;

  bool holds = false;      ///< true if the trace is elementwise; otherwise the other members mean nothing
  bool repeats = false;    ///< true if an input, a weight or the random numbers are repeated
  bool draws = false;      ///< true if the trace draws random numbers
  std::uint64_t seed = 0;  ///< seed of the random numbers
  /// Extents of each input, each weight and the random numbers, with the axes of the result; 1 where they are repeated.
  tracing::growing_array<extents> aligned;

  constexpr explicit elementwise(trace const& of)
      : inputs_(static_cast<int>(of.inputs.size())), leaves_(inputs_ + static_cast<int>(of.weights.size())) {
    if (of.list.problem.failed() || of.outputs.size() != 1 || leaves_ > most_inputs) return;
    find_live(of);
    align(of);
    if (holds) copy(of);
  }

  /// The result. Number i at each place is input i; the weights and the random numbers follow.
  [[nodiscard]] constexpr formula value() const { return {numbers_, {result_}}; }
  /// The gradient of an input (then of a weight) at each place of the result; for a repeated one, the terms of a sum.
  /// Number i at each place is input i; the weights, the result, its gradient and the random numbers follow.
  [[nodiscard]] constexpr formula gradient(int input_index) const {
    operation_list list = numbers_;
    if (draws) list.node_of(leaves_).what = input{leaves_ + 2};
    tracing::growing_array<parameter> weights;
    tracer ops(list, weights);
    tensor const of_result = ops.append(input{leaves_ + 1}, {});
    int const count = list.size();
    differentiation gradients(ops);
    gradients.add(result_, of_result);
    gradients.run(0, count);
    int const id = gradients.has(input_index) ? gradients.of(input_index).id : number(list, 0).id;
    return {list, {id}, {result_, leaves_}};
  }
  /// The composite that is the whole computation, or null.
  [[nodiscard]] constexpr composite const* group() const {
    auto const* what = numbers_.node_of(result_).what.if_is<composite>();
    return what != nullptr && what->first == leaves_ + (draws ? 1 : 0) && is_last(result_) ? what : nullptr;
  }

 private:
  [[nodiscard]] constexpr bool is_last(int id) const { return id == numbers_.size() - 1; }

  constexpr void find_live(trace const& of) {
    live_.assign(of.list.nodes.size(), 0);
    live_[of.outputs[0]] = 1;
    for (int id = of.list.size(); id-- > 0;)
      if (live_[id] != 0)
        for (int i = 0; i < of.list.node_of(id).operand_count; ++i) live_[of.list.operand(id, i)] = 1;
  }
  /// Finds the extents of each input and weight on the axes of the result. A tensor with as many elements as the result
  /// may have any shape, as long as no element moves; one with fewer may only get axes in front of and between its own.
  constexpr void align(trace const& of) {
    extents const result = of.list.node_of(of.outputs[0]).shape;
    aligned.assign(leaves_ + 1, {});
    for (int id = 0; id < of.list.size(); ++id) {
      if (live_[id] == 0) continue;
      node const& here = of.list.node_of(id);
      bool const is_whole = here.shape.size() == result.size();
      if (here.what.is_any<map, broadcast>()) {
        for (int i = 0; i < here.operand_count; ++i)
          if (!reads(of, of.list.operand(id, i), here.shape, result)) return;
      } else if (here.what.is<reshape>()) {
        node const& source = of.list.node_of(of.list.operand(id, 0));
        if (!is_whole && (leaf_of(source) < 0 || !has_same_axes(source.shape, here.shape))) return;
      } else if (auto const* drawn = here.what.if_is<random>()) {
        if (draws || drawn->distribution != random_distribution::uniform) return;
        draws = true;
        seed = drawn->seed;
      } else if (!here.what.is<constant>() && !here.what.is<composite>() && leaf_of(here) < 0) {
        return;
      }
      if (int const leaf = leaf_of(here); leaf >= 0 && is_whole) aligned[leaf] = result;
    }
    for (int i = 0; i < leaves_ + (draws ? 1 : 0); ++i) {
      if (aligned[i].rank == 0 || (i < inputs_ && aligned[i][0] != result[0])) return;  // nothing reads it, or it moves
      repeats = repeats || aligned[i].size() != result.size();
    }
    holds = true;
  }
  /// The number of an input, a weight or a random number; -1 for other operations.
  [[nodiscard]] constexpr int leaf_of(node const& of) const {
    if (auto const* given = of.what.if_is<input>()) return given->index;
    if (auto const* given = of.what.if_is<weight>()) return inputs_ + given->index;
    return of.what.is<random>() ? leaves_ : -1;
  }
  /// Records how a repeated leaf is aligned where an operation of this shape reads it; returns false if there is more
  /// than one way.
  constexpr bool reads(trace const& of, int id, extents const& shape, extents const& result) {
    node const& operand = of.list.node_of(id);
    if (operand.shape.size() == result.size()) return true;
    int leaf = leaf_of(operand);
    if (operand.what.is<reshape>()) leaf = leaf_of(of.list.node_of(of.list.operand(id, 0)));
    if (leaf < 0) return true;
    extents wide = shape, as;
    if (!wide.broadcast_with(result) || wide != result) return false;
    for (int axis = 0; axis < result.rank; ++axis) as.push_back(operand.shape.aligned(axis, result.rank));
    auto& known = aligned[leaf];
    if (known.rank == 0) known = as;
    return known == as;
  }
  static constexpr bool has_same_axes(extents const& a, extents const& b) {
    int i = 0, k = 0;
    while (true) {
      while (i < a.rank && a[i] == 1) ++i;
      while (k < b.rank && b[k] == 1) ++k;
      if (i == a.rank || k == b.rank) return i == a.rank && k == b.rank;
      if (a[i++] != b[k++]) return false;
    }
  }

  /// Copies the operations as operations on numbers: inputs first, then weights, then random numbers.
  constexpr void copy(trace const& of) {
    tracing::growing_array<int> copies(of.list.nodes.size(), -1), begins(of.list.nodes.size(), 0);
    for (int i = 0; i < leaves_; ++i) numbers_.append(input{i}, {});
    int const drawn = draws ? numbers_.append(input{leaves_}, {}) : -1;
    if (draws) numbers_.node_of(drawn).has_gradient = false;
    for (int id = 0; id < of.list.size(); ++id) {
      begins[id] = numbers_.size();
      node const& here = of.list.node_of(id);
      if (live_[id] == 0) continue;
      if (int const leaf = leaf_of(here); leaf >= 0) {
        copies[id] = leaf;
        continue;
      }
      if (here.what.is_any<reshape, broadcast>()) {
        copies[id] = copies[of.list.operand(id, 0)];
        continue;
      }
      tracing::growing_array<int> reads;
      for (int i = 0; i < here.operand_count; ++i) reads.push_back(copies[of.list.operand(id, i)]);
      operation what = here.what;
      if (auto* group = what.if_is<composite>()) group->first = begins[group->first];
      copies[id] = numbers_.append(what, {}, reads);
      numbers_.node_of(copies[id]).has_gradient = here.has_gradient;
    }
    result_ = copies[of.outputs[0]];
  }

  int inputs_, leaves_;
  tracing::growing_array<char> live_;
  operation_list numbers_;
  int result_ = 0;
};

}  // namespace stagecraft::operations
