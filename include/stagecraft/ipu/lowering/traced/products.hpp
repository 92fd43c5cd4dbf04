// SPDX-License-Identifier: BSD-3-Clause
// Traced products, convolutions and poolings, and rows of tables, as tasks.
#pragma once

#include <stagecraft/ipu/lowering/traced/movement.hpp>
#include <stagecraft/ipu/lowering/traced/program_builder.hpp>
#include <stagecraft/ipu/lowering/traced/traced_convolution.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/table.hpp>

namespace stagecraft::tiles {

/// Adds a convolution or matrix product. `strides` are those of the operands. Plans are found afterwards, as one
/// constant for each shape.
template <class Program>
constexpr void add_convolution(Program& program, convolution_shape const& shape, bool is_matmul,
                               convolution_strides const& strides, int inputs, int weights, int result) {
  auto const& options = program.options;
  bool const loads_128_bits = is_matmul ? options.loads_128_bits_for_matmuls : options.loads_128_bits_for_convolutions;
  program.add_planned(shape, is_matmul, [&](lowered_step& step) -> task& {
    return step.add(planned_product{static_cast<std::int64_t>(shape.pass), strides, loads_128_bits ? 1 : 0, 0},
                    {inputs, weights}, {result});
  });
}

/// The matrices of an operand of a batched product: their number and stride. The stride is 0 if one matrix serves all;
/// matrices that are repeated in another way are written out.
struct product_matrices {
  int tensor = -1;
  std::int64_t stride = 0;

  template <class Program>
  constexpr product_matrices(Program& program, int id, operations::extents const& result)
      : tensor(program.tensor_of(id, program.options.type)) {
    operations::extents shape = program.node_of(id).shape;
    std::int64_t const matrix = elements_of_axes(shape, shape.rank - 2, shape.rank);
    if (shape.size() == matrix) return;
    stride = matrix;
    operations::extents wide = result;
    wide[-2] = shape[-2];
    wide[-1] = shape[-1];
    if (wide.size() != shape.size()) tensor = broadcast_to(program, tensor, shape, wide);
  }
};

/// A product with a transposed operand is a gradient of another product, and planned as such.
template <class Program>
constexpr void lower_traced(Program& program, operations::product const& what, int id) {
  auto const& shape = program.node_of(id).shape;
  product_matrices const a(program, program.operand(id, 0), shape), b(program, program.operand(id, 1), shape);
  std::int64_t rows = shape[-2], columns = shape[-1], groups = elements_of_axes(shape, 0, shape.rank - 2);
  std::int64_t const depth = what.inner(program.node_of(program.operand(id, 0)).shape);
  // The rows of all matrices are one matrix if all are multiplied with the same matrix.
  if (groups > 1 && b.stride == 0 && a.stride != 0 && !what.transpose_a) {
    rows *= groups;
    groups = 1;
  }
  auto product = convolution_shape::matmul(program.options.type, rows, depth, columns, groups);
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
  add_convolution(program, product, true, strides, a.tensor, b.tensor, program.result(id));
}

/// Adds a traced convolution. `in` and `out` are those of the forward pass.
template <class Program>
constexpr void add_traced_convolution(Program& program, operations::windows const& windows, int groups,
                                      operations::extents const& in, operations::extents const& out,
                                      convolution_pass pass, int id) {
  if (windows.count > 2) {
    program.failed = true;
    return;
  }
  convolution_shape const shape = traced_convolution(windows, groups, in, out, program.options.type);
  dtype const type = program.options.type;
  int const first = program.tensor_of(program.operand(id, 0), type),
            second = program.tensor_of(program.operand(id, 1), type), result = program.result(id);
  if (pass == convolution_pass::forward)
    add_convolution(program, shape, false, convolution_strides::forward(shape), first, second, result);
  else if (pass == convolution_pass::input_gradient)
    add_convolution(program, shape.input_gradient(), false, convolution_strides::input_gradient(shape), first, second,
                    result);
  else
    add_convolution(program, shape.filter_gradient(), false, convolution_strides::filter_gradient(shape), first, second,
                    result);
}
template <class Program>
constexpr void lower_traced(Program& program, operations::convolution const& what, int id) {
  auto const &in = program.node_of(program.operand(id, 0)).shape, &out = program.node_of(id).shape;
  add_traced_convolution(program, what.windows, what.groups, in, out, convolution_pass::forward, id);
}
template <class Program>
constexpr void lower_traced(Program& program, operations::convolution_input_gradient const& what, int id) {
  auto const &in = program.node_of(id).shape, &out = program.node_of(program.operand(id, 0)).shape;
  add_traced_convolution(program, what.windows, what.groups, in, out, convolution_pass::input_gradient, id);
}
template <class Program>
constexpr void lower_traced(Program& program, operations::convolution_filter_gradient const& what, int id) {
  auto const &in = program.node_of(program.operand(id, 0)).shape, &out = program.node_of(program.operand(id, 1)).shape;
  add_traced_convolution(program, what.windows, what.groups, in, out, convolution_pass::filter_gradient, id);
}

template <class Program>
constexpr pool_shape traced_pool(Program& program, operations::windows const& windows, operations::extents const& in,
                                 operations::extents const& out) {
  pool_axis axes[2]{{.input = 1, .window = 1, .stride = 1, .before = 0, .output = 1},
                    {.input = 1, .window = 1, .stride = 1, .before = 0, .output = 1}};
  program.failed = program.failed || windows.count > 2;
  for (int i = 0; i < windows.count && i < 2; ++i) {
    auto const& window = windows[i];
    program.failed = program.failed || (window.dilation != 1 && window.size > 1);
    axes[2 - windows.count + i] = {.input = in[i + 1],
                                   .window = window.size,
                                   .stride = window.stride,
                                   .before = window.before,
                                   .output = out[i + 1]};
  }
  return {.batch = in[0], .rows = axes[0], .columns = axes[1], .channels = in[-1]};
}
/// Adds a pooling. The type of its result decides how the task is cut.
template <class Program>
constexpr void add_pool(Program& program, pool_function function, std::initializer_list<int> inputs,
                        std::initializer_list<int> outputs, pool_shape const& shape) {
  auto const work = split_pool(function, shape, program.type_of(*outputs.begin()), program.target());
  program.add([&](lowered_step& step) { step.add(work, inputs, outputs); });
}
template <class Program>
constexpr void lower_traced(Program& program, operations::pooling const& what, int id) {
  int const operand = program.operand(id, 0);
  auto const shape = traced_pool(program, what.windows, program.node_of(operand).shape, program.node_of(id).shape);
  if (program.failed) return;
  int const x = program.tensor_of(operand, program.options.type);
  add_pool(program, what.kind == operations::pooling_kind::max ? pool_function::max : pool_function::average, {x},
           {program.result(id)}, shape);
}
/// Lowers the gradient of a pooling. It finds the winning cells again, since only the pooling's values are kept.
template <class Program>
constexpr void lower_traced(Program& program, operations::pooling_gradient const& what, int id) {
  int const x = program.operand(id, 0), y = program.operand(id, 1), dy = program.operand(id, 2);
  auto const shape = traced_pool(program, what.windows, program.node_of(x).shape, program.node_of(y).shape);
  if (program.failed) return;
  dtype const type = program.options.type;
  int const gradient = program.tensor_of(dy, type);
  if (what.kind == operations::pooling_kind::average)
    return add_pool(program, pool_function::average_gradient, {gradient}, {program.result(id)}, shape);
  std::int64_t const windows = program.node_of(y).shape.size();
  int const again = program.temporary(windows, type);
  int const cells = program.temporary(windows * shape.position_bytes(), dtype::uint8);
  add_pool(program, pool_function::max, {program.tensor_of(x, type)}, {again, cells}, shape);
  add_pool(program, pool_function::max_gradient, {cells, gradient}, {program.result(id)}, shape);
}

template <class Program>
constexpr void add_table(Program& program, table_function function, int id, operations::extents const& table) {
  int const in = program.tensor_of(program.operand(id, 0), program.options.type);
  int const numbers = program.tensor_of(program.operand(id, 1)), result = program.result(id);
  program.add([&](lowered_step& step) {
    append_table(step, function, in, numbers, result, program.options.type, program.type_of(numbers), table[0],
                 elements_of_axes(table, 1, table.rank), program.node_of(program.operand(id, 1)).shape.size(),
                 program.target());
  });
}
template <class Program>
constexpr void lower_traced(Program& program, operations::gather const&, int id) {
  add_table(program, table_function::gather, id, program.node_of(program.operand(id, 0)).shape);
}
template <class Program>
constexpr void lower_traced(Program& program, operations::scatter_add const&, int id) {
  add_table(program, table_function::scatter_add, id, program.node_of(id).shape);
}

}  // namespace stagecraft::tiles
