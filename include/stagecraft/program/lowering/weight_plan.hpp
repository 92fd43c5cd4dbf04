// SPDX-License-Identifier: BSD-3-Clause
// A function of a weight, such as its constraint, as operations on the tiles of an IPU: maps where the weight lies, and
// sums. Level 4.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/operations/formula.hpp>
#include <stagecraft/operations/traced_plan.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::detail {

/// Three axes that the axes of a tensor become: before, along and behind those that are reduced or have another length.
struct axes_in_three {
  std::int64_t outer = 1, middle = 1, inner = 1;
  bool fits = true;

  /// `is_middle(i)` for the axes of `all`; axes of length 1 do not count.
  template <class IsMiddle>
  constexpr axes_in_three(operations::extents const& all, IsMiddle const& is_middle) {
    int place = 0;
    for (int i = 0; i < all.rank; ++i) {
      if (all.lengths[i] == 1) continue;
      if (is_middle(i)) {
        fits = fits && place < 2;
        place = 1;
        middle *= all.lengths[i];
      } else if (place == 0) {
        outer *= all.lengths[i];
      } else {
        place = 2;
        inner *= all.lengths[i];
      }
    }
  }
};

/// How a map reads an operand of other extents, which are repeated.
constexpr axes_in_three kept_axes(operations::extents const& operand, operations::extents const& out) {
  return {out, [&](int i) {
            int const own = i - (out.rank - operand.rank);
            return own >= 0 && operand.lengths[own] != 1;
          }};
}

/// The operation whose value is read in place of another one's, which only repeats it.
constexpr int read_of_value(operations::plan_view const& plan, int id) {
  while (true) {
    auto const& what = plan.nodes[static_cast<std::size_t>(id)].what;
    if (!what.is<operations::broadcast>() && !what.is<operations::composite>()) return id;
    id = operand_of(plan, id, 0);
  }
}
constexpr int read_of_operand(operations::plan_view const& plan, int id, int index) {
  return read_of_value(plan, operand_of(plan, id, index));
}

/// Whether tiles carry out an operation for a weight.
constexpr bool has_weight_lowering(operations::plan_view const& plan, int id) {
  using namespace operations;
  auto const& node = plan.nodes[static_cast<std::size_t>(id)];
  auto const shape_of = [&](int index) -> extents const& {
    return plan.nodes[static_cast<std::size_t>(read_of_operand(plan, id, index))].shape;
  };
  if (node.what.is<composite>() || node.what.is<operations::broadcast>() || node.what.is<input>() ||
      node.what.is<constant>())
    return true;
  if (node.what.is<reshape>()) return shape_of(0).size() == node.shape.size();
  if (auto const* by = node.what.if_is<reduce>())
    return shape_of(0) == plan.nodes[static_cast<std::size_t>(operand_of(plan, id, 0))].shape &&
           axes_in_three(shape_of(0), [&](int i) { return by->has(i); }).fits;
  if (!node.what.is<map>()) return false;
  for (int i = 0; i < node.operand_count; ++i)
    if (!kept_axes(shape_of(i), node.shape).fits) return false;
  return true;
}

/// Whether tiles carry out all operations of a plan for a weight.
constexpr bool has_weight_lowering(operations::plan_view const& plan) {
  for (int const id : plan.forward)
    if (!has_weight_lowering(plan, id)) return false;
  auto const shape_of = [&](int id) { return plan.nodes[static_cast<std::size_t>(id)].shape; };
  return kept_axes(shape_of(read_of_value(plan, plan.output)), shape_of(plan.output)).fits;
}

/// One map as a formula of those of its operands that are no constants.
template <auto const& Plan, int Id>
struct formula_of_map {
  constexpr operations::formula operator()() const {
    using namespace operations;
    constexpr node const& of = Plan.nodes[static_cast<std::size_t>(Id)];
    operation_list list;
    int operands[3]{}, given = 0;
    for (int i = 0; i < of.operand_count; ++i) {
      auto const& read = Plan.nodes[static_cast<std::size_t>(read_of_operand(Plan, Id, i))];
      if (auto const* value = read.what.template if_is<constant>())
        operands[i] = list.append(*value, {});
      else
        operands[i] = list.append(input{given++}, {});
    }
    int const result = list.append(of.what.template as<map>(), {},
                                   std::span<int const>(operands, static_cast<std::size_t>(of.operand_count)));
    return {list, {result}};
  }
};
template <auto const& Plan, int Id>
inline constexpr operations::formula_view view_of_map{operations::formula_of<formula_of_map<Plan, Id>>.steps,
                                                      operations::formula_of<formula_of_map<Plan, Id>>.results};

/// Appends the operations of a plan of one input. `Plan` is a plan_view with a name.
template <auto const& Plan>
class weight_lowering {
 public:
  /// `result` gets what the plan gives; it may be `weight`.
  static constexpr void append(lowered_step& step, int weight, int result, dtype type) {
    weight_lowering lowering(step, weight, result, type);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (lowering.template add<Plan.forward[Index]>(), ...);
    }(std::make_index_sequence<Plan.forward.size()>{});
    int const last = read_of_value(Plan, Plan.output), from = lowering.of(last);
    if (from < 0)
      append_map(step, map_function::fill, result, {}, {value_of(last)});
    else if (from != result)
      append_map(step, map_function::copy, result,
                 {{from, kept_axes(node_of(last).shape, node_of(Plan.output).shape).inner, repeated(last)}});
  }

 private:
  constexpr weight_lowering(lowered_step& step, int weight, int result, dtype type)
      : step_(step), weight_(weight), result_(result), type_(type) {
    for (int& tensor : tensors_) tensor = -1;
  }

  static constexpr std::size_t at(int id) { return static_cast<std::size_t>(id); }
  static constexpr operations::node const& node_of(int id) { return Plan.nodes[at(id)]; }
  static constexpr float value_of(int id) {
    auto const* constant = node_of(id).what.template if_is<operations::constant>();
    return constant != nullptr ? constant->value : 0.0F;
  }
  /// How many elements of a value are repeated to be the output; 0 if it is all of it.
  static constexpr std::int64_t repeated(int id) {
    auto const elements = node_of(id).shape.size();
    return elements == node_of(Plan.output).shape.size() ? 0 : elements;
  }
  /// The tensor of a value; -1 of a constant.
  constexpr int of(int id) const {
    return node_of(id).what.template is<operations::input>() ? weight_ : tensors_[at(id)];
  }

  template <int Id>
  constexpr void add() {
    constexpr auto const& what = node_of(Id).what;
    constexpr operations::extents shape = node_of(Id).shape;
    if constexpr (what.template is<operations::map>()) {
      // Only its last reader takes the result's place: the weight is still read before.
      int const out = Id == Plan.output && !is_read_wide<Id>() ? result_ : step_.temporary(shape.size(), type_);
      auto& operation = append_map(step_, map_function::formula, out, {});
      for (int i = 0; i < node_of(Id).operand_count; ++i) {
        int const read = read_of_operand(Plan, Id, i);
        if (node_of(read).what.template is<operations::constant>()) continue;
        auto const kept = kept_axes(node_of(read).shape, shape);
        operation.sizes[2 * operation.input_count] = kept.inner;
        operation.sizes[2 * operation.input_count + 1] = kept.middle == shape.size() ? 0 : kept.middle;
        operation.inputs[operation.input_count++] = of(read);
      }
      operation.formula = &view_of_map<Plan, Id>;
      tensors_[at(Id)] = out;
    } else if constexpr (what.template is<operations::reduce>()) {
      constexpr auto by = what.template as<operations::reduce>();
      int const read = read_of_operand(Plan, Id, 0);
      axes_in_three const axes(node_of(read).shape, [&](int i) { return by.has(i); });
      tensors_[at(Id)] = step_.temporary(shape.size(), type_);
      append_reduce(step_, by.by == operations::reduction::sum ? reduce_function::sum : reduce_function::maximum,
                    {of(read)}, tensors_[at(Id)], axes.outer, axes.middle, axes.inner);
    } else if constexpr (node_of(Id).operand_count > 0) {
      tensors_[at(Id)] = of(read_of_operand(Plan, Id, 0));
    }
  }
  /// Whether an operand that is the weight itself is repeated, so that its place must not be written meanwhile.
  template <int Id>
  static constexpr bool is_read_wide() {
    for (int i = 0; i < node_of(Id).operand_count; ++i)
      if (node_of(operand_of(Plan, Id, i)).what.template is<operations::input>() &&
          node_of(operand_of(Plan, Id, i)).shape != node_of(Id).shape)
        return true;
    return false;
  }

  lowered_step& step_;
  int weight_, result_;
  dtype type_;
  std::array<int, Plan.nodes.size()> tensors_{};
};

}  // namespace stagecraft::detail
