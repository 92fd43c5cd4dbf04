// SPDX-License-Identifier: BSD-3-Clause
// Traced products, convolutions and poolings, and rows of tables, as tasks.
#pragma once

#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/task_list_builder.hpp>
#include <stagecraft/ipu/lowering/traced/traced_convolution.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/table.hpp>

namespace stagecraft::tiles {

/// Adds a convolution or matrix product. `strides` are those of the operands. Plans are found afterwards, as one
/// constant for each shape.
template <class Builder>
constexpr void add_convolution(Builder& builder, convolution_shape const& shape, bool is_matmul,
                               convolution_strides const& strides, int inputs, int weights, int result) {
  auto const& options = builder.options;
  bool const loads_128_bits = is_matmul ? options.loads_128_bits_for_matmuls : options.loads_128_bits_for_convolutions;
  builder.add_planned(shape, is_matmul, [&](lowered_step& step) -> task& {
    return step.add(planned_product{static_cast<std::int64_t>(shape.pass), strides, loads_128_bits ? 1 : 0, 0},
                    {inputs, weights}, {result});
  });
}

/// The matrices of an operand of a batched product: their number and stride. The stride is 0 if one matrix serves all;
/// matrices that are repeated in another way are written out.
struct product_matrices {
  int tensor = -1;
  std::int64_t stride = 0;

  template <class Builder>
  constexpr product_matrices(Builder& builder, int id, operations::extents const& result)
      : tensor(builder.tensor_of(id, builder.options.type)) {
    operations::extents shape = builder.node_of(id).shape;
    std::int64_t const matrix = elements_of_axes(shape, shape.rank - 2, shape.rank);
    if (shape.size() == matrix) return;
    stride = matrix;
    operations::extents wide = result;
    wide[-2] = shape[-2];
    wide[-1] = shape[-1];
    if (wide.size() != shape.size()) tensor = broadcast_to(builder, tensor, shape, wide);
  }
};

/// A product with a transposed operand is a gradient of another product, and planned as such.
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::product const& what, int id) {
  auto const& shape = builder.node_of(id).shape;
  product_matrices const a(builder, builder.operand(id, 0), shape), b(builder, builder.operand(id, 1), shape);
  std::int64_t rows = shape[-2], columns = shape[-1], groups = elements_of_axes(shape, 0, shape.rank - 2);
  std::int64_t const depth = what.inner(builder.node_of(builder.operand(id, 0)).shape);
  // The rows of all matrices are one matrix if all are multiplied with the same matrix.
  if (groups > 1 && b.stride == 0 && a.stride != 0 && !what.transpose_a) {
    rows *= groups;
    groups = 1;
  }
  auto product = convolution_shape::matmul(builder.options.type, rows, depth, columns, groups);
  if (what.transpose_a)
    product.pass = convolution_pass::filter_gradient;
  else if (what.transpose_b)
    product.pass = convolution_pass::input_gradient;
  convolution_strides strides;
  strides.inputs = {.group = groups > 1 ? a.stride : 0,
                    .batch = what.transpose_a ? 1 : depth,
                    .channel = what.transpose_a ? rows : 1};
  strides.weights = {.group = groups > 1 ? b.stride : 0,
                     .input = what.transpose_b ? 1 : columns,
                     .output = what.transpose_b ? depth : 1};
  strides.outputs = {.group = rows * columns, .batch = columns, .channel = 1};
  add_convolution(builder, product, true, strides, a.tensor, b.tensor, builder.result(id));
}

/// Adds a traced convolution. `in` and `out` are those of the forward pass.
template <class Builder>
constexpr void add_traced_convolution(Builder& builder, operations::windows const& windows, int groups,
                                      operations::extents const& in, operations::extents const& out,
                                      convolution_pass pass, int id) {
  if (windows.count > 2) {
    builder.failed = true;
    return;
  }
  convolution_shape const shape = traced_convolution(windows, groups, in, out, builder.options.type);
  dtype const type = builder.options.type;
  int const first = builder.tensor_of(builder.operand(id, 0), type),
            second = builder.tensor_of(builder.operand(id, 1), type), result = builder.result(id);
  if (pass == convolution_pass::forward)
    add_convolution(builder, shape, false, convolution_strides::forward(shape), first, second, result);
  else if (pass == convolution_pass::input_gradient)
    add_convolution(builder, shape.input_gradient(), false, convolution_strides::input_gradient(shape), first, second,
                    result);
  else
    add_convolution(builder, shape.filter_gradient(), false, convolution_strides::filter_gradient(shape), first, second,
                    result);
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::convolution const& what, int id) {
  auto const &in = builder.node_of(builder.operand(id, 0)).shape, &out = builder.node_of(id).shape;
  add_traced_convolution(builder, what.windows, what.groups, in, out, convolution_pass::forward, id);
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::convolution_input_gradient const& what, int id) {
  auto const &in = builder.node_of(id).shape, &out = builder.node_of(builder.operand(id, 0)).shape;
  add_traced_convolution(builder, what.windows, what.groups, in, out, convolution_pass::input_gradient, id);
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::convolution_filter_gradient const& what, int id) {
  auto const &in = builder.node_of(builder.operand(id, 0)).shape, &out = builder.node_of(builder.operand(id, 1)).shape;
  add_traced_convolution(builder, what.windows, what.groups, in, out, convolution_pass::filter_gradient, id);
}

template <class Builder>
constexpr pool_shape traced_pool(Builder& builder, operations::windows const& windows, operations::extents const& in,
                                 operations::extents const& out) {
  pool_axis axes[2]{{.input = 1, .window = 1, .stride = 1, .before = 0, .output = 1},
                    {.input = 1, .window = 1, .stride = 1, .before = 0, .output = 1}};
  builder.failed = builder.failed || windows.count > 2;
  for (int i = 0; i < windows.count && i < 2; ++i) {
    auto const& window = windows[i];
    builder.failed = builder.failed || (window.dilation != 1 && window.size > 1);
    axes[2 - windows.count + i] = {.input = in[i + 1],
                                   .window = window.size,
                                   .stride = window.stride,
                                   .before = window.before,
                                   .output = out[i + 1]};
  }
  return {.batch = in[0], .rows = axes[0], .columns = axes[1], .channels = in[-1]};
}
/// Adds a pooling. The type of its result decides how the task is cut.
template <class Builder>
constexpr void add_pool(Builder& builder, pool_function function, std::initializer_list<int> inputs,
                        std::initializer_list<int> outputs, pool_shape const& shape) {
  auto const work = split_pool(function, shape, builder.type_of(*outputs.begin()), builder.target());
  builder.add([&](lowered_step& step) { step.add(work, inputs, outputs); });
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::pooling const& what, int id) {
  int const operand = builder.operand(id, 0);
  auto const shape = traced_pool(builder, what.windows, builder.node_of(operand).shape, builder.node_of(id).shape);
  if (builder.failed) return;
  int const x = builder.tensor_of(operand, builder.options.type);
  add_pool(builder, what.kind == operations::pooling_kind::max ? pool_function::max : pool_function::average, {x},
           {builder.result(id)}, shape);
}
/// Lowers the gradient of a pooling. It finds the winning cells again, since only the pooling's values are kept.
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::pooling_gradient const& what, int id) {
  int const x = builder.operand(id, 0), y = builder.operand(id, 1), dy = builder.operand(id, 2);
  auto const shape = traced_pool(builder, what.windows, builder.node_of(x).shape, builder.node_of(y).shape);
  if (builder.failed) return;
  dtype const type = builder.options.type;
  int const gradient = builder.tensor_of(dy, type);
  if (what.kind == operations::pooling_kind::average)
    return add_pool(builder, pool_function::average_gradient, {gradient}, {builder.result(id)}, shape);
  std::int64_t const windows = builder.node_of(y).shape.size();
  int const again = builder.temporary(windows, type);
  int const cells = builder.temporary(windows * shape.position_bytes(), dtype::uint8);
  add_pool(builder, pool_function::max, {builder.tensor_of(x, type)}, {again, cells}, shape);
  add_pool(builder, pool_function::max_gradient, {cells, gradient}, {builder.result(id)}, shape);
}

template <class Builder>
constexpr void add_table(Builder& builder, table_function function, int id, operations::extents const& table) {
  int const in = builder.tensor_of(builder.operand(id, 0), builder.options.type);
  int const numbers = builder.tensor_of(builder.operand(id, 1)), result = builder.result(id);
  bool const are_whole = builder.node_of(builder.operand(id, 1)).type == dtype::int32;
  dtype const index_type = are_whole ? dtype::int32 : builder.type_of(numbers);
  builder.add([&](lowered_step& step) {
    append_table(step, function, in, numbers, result, builder.options.type, index_type, table[0],
                 elements_of_axes(table, 1, table.rank), builder.node_of(builder.operand(id, 1)).shape.size(),
                 builder.target());
  });
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::gather const&, int id) {
  add_table(builder, table_function::gather, id, builder.node_of(builder.operand(id, 0)).shape);
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::scatter_add const&, int id) {
  add_table(builder, table_function::scatter_add, id, builder.node_of(id).shape);
}

}  // namespace stagecraft::tiles
