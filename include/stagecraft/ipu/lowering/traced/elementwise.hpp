// SPDX-License-Identifier: BSD-3-Clause
// Traced maps, reductions, and numbers that are made where they lie, as tasks.
#pragma once

#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/task_list_builder.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>

namespace stagecraft::tiles {

/// The operand by which a map reads a tensor for a result of extents `to`. Repetitions that maps do not know are
/// written out first.
template <class Builder>
constexpr map_operand operand_of_map(Builder& builder, int id, operations::extents const& to) {
  while (builder.is_repeated_by_maps(id)) id = builder.operand(id, 0);
  operations::extents const& from = builder.node_of(id).shape;
  int const tensor = builder.tensor_of(id);
  if (from.size() == to.size()) return {tensor};
  if (from.size() == 1) return {tensor, {1, 1}};
  // The axes that are not repeated stand side by side: [first, last).
  int first = to.rank, last = 0;
  for (int axis = 0; axis < to.rank; ++axis)
    if (from.aligned(axis, to.rank) != 1) {
      if (first == to.rank) first = axis;
      last = axis + 1;
    }
  for (int axis = first; axis < last; ++axis)
    if (from.aligned(axis, to.rank) != to[axis]) return {broadcast_to(builder, tensor, from, to)};
  return {tensor, {elements_of_axes(to, last, to.rank), elements_of_axes(to, first, last)}};
}

/// The square root in constant evaluation, by Newton's method.
[[nodiscard]] constexpr double square_root(double x) {
  double root = x > 1 ? x : 1;
  for (double better = (root + x / root) / 2; better < root; better = (root + x / root) / 2) root = better;
  return root;
}
/// Computes a map of constants; false for a function that constant evaluation does not compute.
constexpr bool number_of_map(operations::function apply, float const* in, float& result) {
  using enum operations::function;
  switch (apply) {
    case identity: result = in[0]; return true;
    case negative: result = -in[0]; return true;
    case absolute: result = in[0] < 0 ? -in[0] : in[0]; return true;
    case sqrt: result = static_cast<float>(square_root(static_cast<double>(in[0]))); return in[0] > 0;
    case rsqrt: result = static_cast<float>(1 / square_root(static_cast<double>(in[0]))); return in[0] > 0;
    case add: result = in[0] + in[1]; return true;
    case subtract: result = in[0] - in[1]; return true;
    case multiply: result = in[0] * in[1]; return true;
    case divide: result = in[0] / in[1]; return true;
    case maximum: result = in[0] < in[1] ? in[1] : in[0]; return true;
    case minimum: result = in[1] < in[0] ? in[1] : in[0]; return true;
    case less: result = in[0] < in[1] ? 1.0F : 0.0F; return true;
    case less_equal: result = in[0] <= in[1] ? 1.0F : 0.0F; return true;
    case equal: result = in[0] == in[1] ? 1.0F : 0.0F; return true;
    case select: result = in[0] != 0 ? in[1] : in[2]; return true;
    default: return false;
  }
}

/// The product with a constant that is the only reader of a sum, or -1: the sum is scaled while it is made.
template <class Builder>
constexpr int scaled_sum(Builder& builder, operations::reduce const& what, int id, float& scale) {
  if (what.by != operations::reduction::sum || builder.is_kept(id) || builder.targets[id] >= 0) return -1;
  int const reader = builder.only_reader_of(id);
  if (reader < 0) return -1;
  operations::operation const& reads = builder.node_of(reader).what;
  auto const* product = reads.if_is<operations::map>();
  if (product == nullptr || product->apply != operations::function::multiply) return -1;
  int const other = builder.operand(reader, builder.operand(reader, 0) == id ? 1 : 0);
  operations::operation const& factor = builder.node_of(other).what;
  auto const* number = factor.if_is<operations::constant>();
  if (number == nullptr) return -1;
  scale = number->value;
  return reader;
}

template <class Builder>
constexpr void lower_map(Builder& builder, operations::map const& what, int id) {
  auto const& node = builder.node_of(id);
  map_operand tensors[3];
  float numbers[3]{};
  int count = 0;
  std::int64_t are_numbers = 0;
  for (int i = 0; i < node.operand_count; ++i) {
    int const operand = builder.operand(id, i);
    if (auto const& value = builder.value_of(operand); value.is_number) {
      numbers[i] = value.number;
      are_numbers |= std::int64_t{1} << i;
    } else {
      tensors[count++] = operand_of_map(builder, operand, node.shape);
    }
  }
  if (count == 0) {
    auto& value = builder.values[id];
    value.is_number = number_of_map(what.apply, numbers, value.number);
    if (value.is_number) return;
    // One tile computes it.
    tensors[count++] = {builder.filled(1, numbers[0], builder.types[id]), {1, 1}};
    are_numbers -= 1;
  }
  int const result = builder.result(id);
  builder.add([&](lowered_step& step) {
    auto& task = append_map(step, map_function_of(what.apply), result, {});
    auto& map = task.what.as<map_task>();
    for (int i = 0; i < count; ++i) {
      map.reads[i] = tensors[i].read;
      task.inputs[task.input_count++] = tensors[i].tensor;
    }
    map.numbers = are_numbers;
    for (int i = 0; i < 3; ++i) map.scalars[i] = static_cast<double>(numbers[i]);
  });
}

/// A product whose only reader is a sum of it is computed there: sums of squares and of products are reductions of
/// their own.
template <class Builder>
constexpr bool is_product_of_sum(Builder& builder, operations::map const& what, int id) {
  if (what.apply != operations::function::multiply || builder.is_kept(id) || builder.targets[id] >= 0) return false;
  std::int64_t const elements = builder.node_of(id).shape.size();
  int const first = builder.operand(id, 0), second = builder.operand(id, 1);
  for (int const operand : {first, second})
    if (builder.value_of(operand).tensor < 0 || builder.node_of(operand).shape.size() != elements) return false;
  if (builder.type_of(builder.value_of(first).tensor) != builder.type_of(builder.value_of(second).tensor)) return false;
  int const reader = builder.only_reader_of(id);
  if (reader < 0) return false;
  operations::operation const& reads = builder.node_of(reader).what;
  auto const* sum = reads.if_is<operations::reduce>();
  return sum != nullptr && sum->by == operations::reduction::sum && builder.node_of(reader).shape.size() != elements;
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::map const& what, int id) {
  if (what.apply == operations::function::identity) {
    builder.values[id] = builder.value_of(builder.operand(id, 0));
    return;
  }
  // The operation is a part of a sum, before or after it.
  if (builder.value_of(id).tensor >= 0 || is_product_of_sum(builder, what, id)) return;
  lower_map(builder, what, id);
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::whole_map const& what, int id) {
  operations::node const node = builder.node_of(id);
  map_operand tensors[2]{};
  for (int i = 0; i < node.operand_count; ++i) tensors[i] = operand_of_map(builder, builder.operand(id, i), node.shape);
  int const result = builder.result(id);
  builder.add([&](lowered_step& step) {
    auto& task = append_map(step, map_function::whole, result, {});
    auto& map = task.what.as<map_task>();
    for (int i = 0; i < node.operand_count; ++i) {
      map.reads[i] = tensors[i].read;
      task.inputs[task.input_count++] = tensors[i].tensor;
    }
    map.scalars[0] = static_cast<double>(what.apply);
    map.scalars[1] = static_cast<double>(what.value);
  });
}

/// Axes that stand side by side are reduced at once, the innermost first.
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::reduce const& what, int id) {
  int const operand = builder.operand(id, 0);
  operations::extents shape = builder.node_of(operand).shape;
  auto function = what.by == operations::reduction::max ? reduce_function::maximum : reduce_function::sum;
  int tensor = -1, factor = -1;
  if (auto const& value = builder.value_of(operand); value.tensor >= 0 || value.is_number) {
    tensor = builder.tensor_of(operand);
  } else {  // a product
    tensor = builder.value_of(builder.operand(operand, 0)).tensor;
    factor = builder.value_of(builder.operand(operand, 1)).tensor;
    function = tensor == factor ? reduce_function::sum_of_squares : reduce_function::sum_of_products;
  }
  auto const is_reduced = [&](int axis) { return what.has(axis) && shape[axis] > 1; };
  float scale = 1;
  int const product = scaled_sum(builder, what, id, scale);
  int axis = shape.rank - 1;
  while (axis >= 0 && !is_reduced(axis)) --axis;
  if (axis < 0) return builder.copy(tensor, builder.result(id));
  if (product >= 0) builder.values[id].tensor = builder.result(product);
  while (axis >= 0) {
    int const last = axis + 1;
    while (axis >= 0 && (is_reduced(axis) || shape[axis] == 1)) --axis;
    int const first = axis + 1;
    std::int64_t const outer = elements_of_axes(shape, 0, first), reduced = elements_of_axes(shape, first, last),
                       inner = elements_of_axes(shape, last, shape.rank);
    for (int i = first; i < last; ++i) shape[i] = 1;
    while (axis >= 0 && !is_reduced(axis)) --axis;
    int const result = axis < 0 ? builder.result(id) : builder.temporary(outer * inner, dtype::float32);
    builder.add([&](lowered_step& step) {
      if (function == reduce_function::sum_of_products)
        append_reduce(step, function, {tensor, factor}, result, outer, reduced, inner, axis < 0 ? scale : 1.0F);
      else
        append_reduce(step, function, {tensor}, result, outer, reduced, inner, axis < 0 ? scale : 1.0F);
    });
    tensor = result;
    if (function != reduce_function::maximum) function = reduce_function::sum;
  }
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::iota const& what, int id) {
  auto const& shape = builder.node_of(id).shape;
  int const result = builder.result(id);
  builder.add([&](lowered_step& step) {
    append_iota(step, result, elements_of_axes(shape, what.axis + 1, shape.rank), shape[what.axis]);
  });
}

/// Random numbers are counted as on the host: host/lists/list_runner.hpp, or elementwise_layer.hpp.
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::random const& what, int id) {
  int const result = builder.result(id);
  bool const is_uniform = what.distribution == operations::random_distribution::uniform;
  builder.add([&](lowered_step& step) {
    append_random(step, is_uniform ? map_function::random_uniform : map_function::random_normal, result,
                  builder.options.draws_in_loop ? 0 : static_cast<std::uint64_t>(id + 1) << 36U, what.seed);
  });
}

}  // namespace stagecraft::tiles
