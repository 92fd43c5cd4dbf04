// SPDX-License-Identifier: BSD-3-Clause
// A computation while it is traced: operations in the order in which they were written down.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/kinds/operation.hpp>
#include <initializer_list>

namespace stagecraft {

struct parameter;

}  // namespace stagecraft

namespace stagecraft::operations {

class tracer;
struct tensor;
struct traced_step;  // training/steps/traced_step.hpp

/// A list that grows in constant evaluation; `frozen_plan` is its constant.
class operation_list {
 public:
  constexpr operation_list() {
    nodes.reserve(128);  // growing copies all elements, which takes the compiler long
    operands.reserve(256);
  }

  /// Appends an operation and returns its number. Gradients flow through it if they do through one of its operands.
  constexpr int append(operation const& what, extents const& shape, tracing::array_view<int const> reads = {}) {
    bool has_gradient = is_source(what), has_types = false;
    for (int const id : reads) {
      has_gradient |= node_of(id).has_gradient;
      has_types |= node_of(id).type != dtype::float32;
    }
    dtype type = dtype::float32;
    if (auto const* elementwise = what.if_is<map>(); elementwise && !is_differentiable(elementwise->apply)) {
      has_gradient = false;
      if (is_comparison(elementwise->apply)) type = dtype::boolean;
    }
    if (has_types || what.is<whole_map>()) {
      type = type_of(what, reads);
      has_gradient = has_gradient && type != dtype::int32 && !what.is<whole_map>();
    }
    nodes.push_back(
        {what, shape, static_cast<int>(operands.size()), static_cast<int>(reads.size()), has_gradient, type});
    for (int const id : reads) operands.push_back(id);
    return static_cast<int>(nodes.size()) - 1;
  }
  constexpr int append(operation const& what, extents const& shape, std::initializer_list<int> reads) {
    return append(what, shape, tracing::array_view<int const>(reads.begin(), reads.size()));
  }

  [[nodiscard]] constexpr node const& node_of(int id) const { return nodes[id]; }
  [[nodiscard]] constexpr node& node_of(int id) { return nodes[id]; }
  [[nodiscard]] constexpr int operand(int id, int index) const { return operand_of(*this, id, index); }
  [[nodiscard]] constexpr int size() const noexcept { return static_cast<int>(nodes.size()); }

  /// Appends a copy of a value.
  constexpr int copied(int id) { return append(broadcast{}, node_of(id).shape, {id}); }
  /// The value, or a copy if it lies in the memory of a weight, which an update may write before the value is read.
  constexpr int apart(int id) {
    int from = id;
    while (is_alias(node_of(from).what)) from = operand(from, 0);
    return node_of(from).what.is<weight>() ? copied(id) : id;
  }

  /// Records E1070 for the first mistake.
  template <class... Parts>
  constexpr void fail(Parts const&... parts) {
    if (layer_name.empty())
      problem.report(1070, parts...);
    else
      problem.report(1070, kind, " '", layer_name, "': ", parts...);
  }
  /// Begins an error about a layer's options, "layer 'name' has ..."; returns false if the list has an error already.
  constexpr bool begin_rejection(int code) {
    if (!problem.begin(code)) return false;
    problem.append(kind);
    problem.append(" '");
    problem.append(layer_name);
    problem.append("' ");
    return true;
  }

  tracing::growing_array<node> nodes;
  tracing::growing_array<int> operands;
  diagnostics::diagnostic problem;
  tracing::growing_array<extents> packed;  ///< extents of the result's parts, if it has several; see tracer::outputs
  tracing::growing_array<int> losses;      ///< values that are added to the loss; see tracer::add_loss
  std::string_view kind = "layer";         ///< kind of the traced object, for errors
  std::string_view layer_name;             ///< its name, for errors
  bool layer_is_frozen = false;            ///< true: the layer is not trainable, and keeps its moving statistics
  int open_loops = 0;                      ///< number of loops that are open at the end of the list
  traced_step* step = nullptr;             ///< the user's training step that is being traced, or null
  /// Makes or finds a weight of a model of that step.
  tensor (*weight_of_step)(tracer&, parameter const&) = nullptr;

 private:
  // This stands above its caller: see tracer.
  constexpr void reject_types(std::string_view text) {
    if (!begin_rejection(1186)) return;
    problem.append(text);
    problem.end();
  }
  /// The type of an operation's result where an operand is no float32. Operations on floats do not take int32: E1186.
  constexpr dtype type_of(operation const& what, tracing::array_view<int const> reads) {
    auto const type = [&](std::size_t operand) { return node_of(reads[operand]).type; };
    if (auto const* of = what.if_is<whole_map>()) return type_of_result(of->apply);
    if (is_alias(what) || what.is_any<broadcast, transpose, slice, pad, gather>()) return type(0);
    if (what.is_any<carry, at, stack, last>()) return type(1);
    if (what.is_any<next, concatenate>()) {
      dtype const first = type(what.is<next>() ? 1 : 0);
      for (std::size_t i = what.is<next>() ? 2 : 1; i < reads.size(); ++i)
        if ((type(i) == dtype::int32) != (first == dtype::int32))
          reject_types("puts int32 and floats into one tensor; convert one of them with ops.cast");
      return first;
    }
    auto const* elementwise = what.if_is<map>();
    bool const is_choice = elementwise != nullptr && elementwise->apply == function::select;
    for (std::size_t i = 0; i < reads.size(); ++i)
      if (type(i) == dtype::int32 && !(is_choice && i > 0) && !(what.is<scatter_add>() && i == 1))
        reject_types(
            "has an operation that computes with floats, but is given elements of the type int32; convert them "
            "with ops.cast(x, sc::dtype::float32)");
    if (elementwise != nullptr && is_comparison(elementwise->apply)) return dtype::boolean;
    return is_choice ? type(1) : dtype::float32;
  }
  /// True of operations where gradients end: inputs and weights. Constants and random numbers have none.
  static constexpr bool is_source(operation const& what) { return what.is_any<input, weight>(); }
};

}  // namespace stagecraft::operations
