// SPDX-License-Identifier: BSD-3-Clause
// A traced layer's step while it is lowered: tensors, their types, tasks and loops in the order in which they are
// appended.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// The properties of a call, besides its plan, that its lowering depends on.
struct traced_options {
  dtype type = dtype::float32;                   ///< type of values and gradients
  dtype variable_type = dtype::float32;          ///< type of weights as they are stored
  bool loads_128_bits_for_matmuls = false;       ///< poplar_options of products
  bool loads_128_bits_for_convolutions = false;  ///< poplar_options of convolutions
  bool draws_in_loop = false;                    ///< true if the host draws random numbers in the loop of a formula
  std::uint64_t exact_inputs = 0;                ///< a bit for each input whose numbers count something
  ipu_target const& target;                      ///< an IPU with the tiles that compute
};

/// The types of a traced layer's values on the tiles. Values have the type of the call. In half precision, these are
/// float32: inputs that count something; sums and maxima, as in normalizations; places along an axis; values computed
/// from these alone; and values made of numbers that a half cannot hold, such as those that masks add.
template <class = void>
class value_types {
  struct traits {
    bool is_constant = false, is_weight = false, is_large = false;
  };
  // These stand before their callers, since Clang would instantiate them too late for constants.
  template <class What>
  [[nodiscard]] constexpr dtype rule(What const&) const {
    return options_.type;
  }
  template <class What>
  [[nodiscard]] constexpr traits traits_of(What const&) const {
    return {};
  }

 public:
  constexpr value_types(operations::plan_view const& plan, traced_options const& options)
      : types(plan.nodes.size(), options.type), plan_(plan), options_(options), traits_(plan.nodes.size()) {
    if (options.type == dtype::float32) return;
    for (id_ = 0; id_ < static_cast<int>(plan.nodes.size()); ++id_) {
      types[id_] = here().what.visit([&](auto const& what) { return rule(what); });
      traits_[id_] = here().what.visit([&](auto const& what) { return traits_of(what); });
    }
  }

  growing_array<dtype> types;

 private:
  static constexpr float largest_half = 65504;

  [[nodiscard]] constexpr operations::node const& here() const { return plan_.nodes[id_]; }
  [[nodiscard]] constexpr int operand(int index) const { return operand_of(plan_, id_, index); }

  [[nodiscard]] constexpr dtype rule(operations::input const& what) const {
    return what.index < 64 && (options_.exact_inputs >> what.index & 1U) != 0 ? dtype::float32 : options_.type;
  }
  [[nodiscard]] constexpr dtype rule(operations::weight const&) const { return options_.variable_type; }
  [[nodiscard]] constexpr dtype rule(operations::iota const&) const { return dtype::float32; }
  [[nodiscard]] constexpr dtype rule(operations::whole_map const&) const { return dtype::float32; }
  [[nodiscard]] constexpr dtype rule(operations::reduce const&) const { return dtype::float32; }
  [[nodiscard]] constexpr dtype rule(operations::map const&) const {
    bool is_wide = false, is_of_numbers = true;
    for (int i = 0; i < here().operand_count; ++i) {
      auto const& of = traits_[operand(i)];
      is_wide = is_wide || of.is_large;
      if (of.is_constant) continue;
      is_of_numbers = is_of_numbers && !of.is_weight && types[operand(i)] == dtype::float32;
    }
    return is_wide || is_of_numbers ? dtype::float32 : options_.type;
  }
  [[nodiscard]] constexpr dtype rule(operations::reshape const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::broadcast const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::transpose const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::slice const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::pad const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::composite const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::at const&) const { return types[operand(1)]; }
  [[nodiscard]] constexpr dtype rule(operations::stack const&) const { return types[operand(1)]; }

  [[nodiscard]] constexpr traits traits_of(operations::constant const& what) const {
    return {.is_constant = true, .is_large = what.value > largest_half || what.value < -largest_half};
  }
  [[nodiscard]] constexpr traits traits_of(operations::weight const&) const { return {.is_weight = true}; }
  [[nodiscard]] constexpr traits traits_of(operations::reshape const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::broadcast const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::transpose const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::slice const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::map const& what) const {
    using enum operations::function;
    traits result{.is_constant = true};
    bool const keeps_size = what.apply == identity || what.apply == negative || what.apply == add ||
                            what.apply == subtract || what.apply == multiply || what.apply == select ||
                            what.apply == maximum || what.apply == minimum;
    for (int i = 0; i < here().operand_count; ++i) {
      result.is_constant = result.is_constant && traits_[operand(i)].is_constant;
      result.is_large = result.is_large || (keeps_size && traits_[operand(i)].is_large);
    }
    return result;
  }

  operations::plan_view const& plan_;
  traced_options const& options_;
  growing_array<traits> traits_;
  int id_ = 0;
};

/// The value of an operation on the tiles: a tensor, or one number everywhere, which needs no tensor.
struct traced_value {
  int tensor = -1;
  bool is_number = false;
  float number = 0;
};

/// Appends the tasks of a plan's operations. An operation that has no counterpart on tiles sets `failed`.
template <class Unused = void>
class task_list_builder {
 public:
  using extents = operations::extents;
  using node = operations::node;

  growing_array<task_list_tensor> tensors;
  growing_array<task> tasks;
  growing_array<tile_loop> loops;
  growing_array<convolution_shape> shapes;
  growing_array<char> is_matmul;  ///< true for shapes of matrix products
  bool failed = false;

  constexpr task_list_builder(operations::plan_view const& of, traced_options const& of_call, bool backward)
      : plan(of),
        options(of_call),
        is_backward(backward),
        types(value_types<Unused>(plan, options).types),
        values(plan.nodes.size()),
        targets(plan.nodes.size(), -1) {
    tensors.reserve(128);
    tasks.reserve(128);
  }

  operations::plan_view plan;
  traced_options const& options;
  bool is_backward;
  growing_array<dtype> types;          ///< types of the values of all operations
  growing_array<traced_value> values;  ///< values of all operations
  growing_array<int> targets;          ///< the tensor that an operation must write; -1: any

  [[nodiscard]] constexpr node const& node_of(int id) const { return plan.nodes[id]; }
  [[nodiscard]] constexpr int operand(int id, int index) const { return operand_of(plan, id, index); }
  [[nodiscard]] constexpr tracing::array_view<int const> order() const {
    return is_backward ? plan.backward : plan.forward;
  }
  [[nodiscard]] constexpr traced_value const& value_of(int id) const { return values[id]; }
  [[nodiscard]] constexpr dtype type_of(int tensor) const { return tensors[tensor].tensor.type; }
  [[nodiscard]] constexpr ipu_target const& target() const { return options.target; }

  /// A tensor of the step around this one. Gradients of weights have the role `accumulator` here.
  constexpr int given(tensor_role role, int index, dtype type, std::int64_t elements) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].given >= 0 && tensors[i].tensor.role == role && tensors[i].tensor.index == index)
        return static_cast<int>(i);
    tensors.push_back({{role, index, type, elements}, -1, given_count_++, false});
    return static_cast<int>(tensors.size()) - 1;
  }
  constexpr int temporary(std::int64_t elements, dtype type) {
    tensors.push_back({{tensor_role::temporary, temporary_count_++, type, elements}});
    return static_cast<int>(tensors.size()) - 1;
  }

  /// `append(step)` appends tasks to a step, by the numbers that tensors have here.
  template <class Append>
  constexpr void add(Append const& append) {
    append(scratch_);
    for (int k = 0; k < scratch_.task_count; ++k) {
      tasks.push_back(scratch_.tasks[k]);
      scratch_.tasks[k] = {};
    }
    scratch_.task_count = 0;
  }
  /// A product or convolution, which `append(step, number of its plan)` appends.
  template <class Append>
  constexpr void add_planned(convolution_shape const& shape, bool matmul, Append const& append) {
    shapes.push_back(shape);
    is_matmul.push_back(matmul);
    add([&](lowered_step& step) { append(step).plan = static_cast<int>(shapes.size()) - 1; });
  }

  /// The tensor that an operation writes: it becomes the operation's value.
  constexpr int result(int id) {
    int& tensor = values[id].tensor;
    if (tensor >= 0) return tensor;
    std::int64_t const elements = node_of(id).shape.size();
    if (is_kept(id))
      tensor = given(tensor_role::saved, static_cast<int>(plan.forward_places[id].offset), types[id], elements);
    else
      tensor = targets[id] >= 0 ? targets[id] : temporary(elements, types[id]);
    return tensor;
  }
  /// True if the backward step finds the value of this operation of the forward step.
  [[nodiscard]] constexpr bool is_kept(int id) const {
    return !is_backward && plan.forward_places[id].in == operations::storage::kept && !is_same_as_operand(id);
  }
  /// True if an operation has its operand's elements in their order, and no memory of its own.
  [[nodiscard]] constexpr bool is_same_as_operand(int id) const {
    operations::operation const& what = node_of(id).what;
    auto const* elementwise = what.if_is<operations::map>();
    return what.is_any<operations::reshape, operations::composite>() ||
           (elementwise != nullptr && elementwise->apply == operations::function::identity);
  }

  /// True for a broadcast that only maps read, since these repeat their operands themselves.
  [[nodiscard]] constexpr bool is_repeated_by_maps(int id) const {
    operations::operation const& what = node_of(id).what;
    return what.is<operations::broadcast>() && value_of(id).tensor < 0 && !value_of(id).is_number;
  }
  /// The operation that reads this one's value, if there is only one, and no loop begins or ends between them; else -1.
  [[nodiscard]] constexpr int only_reader_of(int id) const {
    if (id == plan.output) return -1;
    for (int const gradient : plan.gradients)
      if (gradient == id) return -1;
    int reader = -1;
    bool is_behind = false, has_loop = false;
    for (int const other : order()) {
      is_behind = is_behind || other == id;
      if (!is_behind) continue;
      operations::operation const& what = node_of(other).what;
      has_loop = has_loop || what.is_any<operations::loop, operations::loop_end>();
      for (int i = 0; i < node_of(other).operand_count; ++i)
        if (operand(other, i) == id) {
          if (reader >= 0 || has_loop) return -1;
          reader = other;
        }
    }
    return reader;
  }
  /// True if all readers of an operation's value in this step are maps.
  [[nodiscard]] constexpr bool is_read_by_maps_only(int id) const {
    if (is_kept(id) || targets[id] >= 0 || id == plan.output) return false;
    for (int const gradient : plan.gradients)
      if (gradient == id) return false;
    for (int const other : order()) {
      operations::operation const& what = node_of(other).what;
      auto const* elementwise = what.if_is<operations::map>();
      if (elementwise != nullptr && elementwise->apply != operations::function::identity) continue;
      for (int i = 0; i < node_of(other).operand_count; ++i)
        if (operand(other, i) == id) return false;
    }
    return true;
  }

  /// The value of an operation as a tensor of all its elements.
  constexpr int tensor_of(int id) {
    auto const& value = value_of(id);
    return value.is_number ? filled(node_of(id).shape.size(), value.number, types[id]) : value.tensor;
  }
  constexpr int tensor_of(int id, dtype type) { return as_type(tensor_of(id), type); }
  constexpr int filled(std::int64_t elements, float value, dtype type) {
    int const tensor = temporary(elements, type);
    fill(tensor, value);
    return tensor;
  }
  constexpr void fill(int tensor, float value) {
    add([&](lowered_step& step) { append_map(step, map_function::fill, tensor, {}, {value}); });
  }
  constexpr void copy(int from, int to) {
    add([&](lowered_step& step) { append_map(step, map_function::copy, to, {{from}}); });
  }
  /// A tensor in some type: itself, or a copy, which is made once where there are no loops.
  constexpr int as_type(int tensor, dtype type) {
    if (type_of(tensor) == type) return tensor;
    for (auto const& [of, copy] : converted_)
      if (of == tensor) return copy;
    int const copied = temporary(tensors[tensor].tensor.elements, type);
    copy(tensor, copied);
    if (open_loops == 0) converted_.emplace_back(tensor, copied);
    return copied;
  }

  int open_loops = 0;

 private:
  int given_count_ = 0, temporary_count_ = 0;
  lowered_step scratch_;
  growing_array<std::pair<int, int>> converted_;
};

/// The product of the lengths of axes [first, last).
[[nodiscard]] constexpr std::int64_t elements_of_axes(operations::extents const& shape, int first, int last) {
  std::int64_t product = 1;
  for (int axis = first; axis < last; ++axis) product *= shape[axis];
  return product;
}

}  // namespace stagecraft::tiles
