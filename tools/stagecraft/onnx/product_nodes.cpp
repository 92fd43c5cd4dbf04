// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's matrix products to Dense layers.
#include "attention_nodes.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// The rows of a kernel in the order in which a picture was flattened here.
onnx_constant with_rows_of(onnx_constant const& kernel, traced_tensor const& x) {
  if (x.flat_order.empty()) return kernel;
  // The graph's axes but the first, in order, with their lengths; rows are numbered along them.
  std::vector<int> axes(x.flat_order.begin() + 1, x.flat_order.end());
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  onnx_constant rows{{}, {}, true};
  for (int const axis : sorted)
    rows.shape.push_back(
        x.flat_lengths[static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin())]);
  for (std::int64_t i = 0; i < kernel.shape[0]; ++i) rows.values.push_back(static_cast<double>(i));
  std::vector<int> order;
  for (int const axis : axes)
    order.push_back(static_cast<int>(std::find(sorted.begin(), sorted.end(), axis) - sorted.begin()));
  auto const moved = transposed(rows, order);
  auto result = kernel;
  auto const units = static_cast<std::size_t>(kernel.shape[1]);
  for (std::size_t i = 0; i < moved.values.size(); ++i)
    std::copy_n(kernel.values.begin() + static_cast<std::ptrdiff_t>(moved.values[i]) * kernel.shape[1], units,
                result.values.begin() + static_cast<std::ptrdiff_t>(i * units));
  return result;
}

void set_dense(trace& to, traced_tensor x, onnx_constant const& kernel, std::optional<onnx_constant> const& bias,
               std::string const& name, onnx_node const& giver) {
  if (kernel.shape.size() != 2) throw unsupported("has a constant that is no matrix");
  if (!to.least_byte() && take_attention_output(to, x, kernel, bias, name, giver)) return;
  x = to.of_one_head(x);
  if (x.joined_axis >= 0) throw unsupported("joins samples with another axis");
  if (x.order.back() != x.rank - 1 || x.fused_axis >= 0) x = to.in_order(x);
  if (kernel.shape[0] != x.lengths.back()) throw unsupported("has a matrix that does not fit its input");
  json config{{"units", kernel.shape[1]}};
  if (auto const least = to.least_byte()) config["input_bytes"] = *least;
  std::vector<onnx_constant> weights{with_rows_of(kernel, x)};
  if (bias)
    weights.push_back(*bias);
  else
    config["use_bias"] = false;
  auto y = to.call("Dense", config, {x}, weights, name);
  y.rank = x.rank, y.order = x.order;
  to.set(giver, y);
}

/// A number for each unit, from a constant of one axis, or from one number for all.
std::optional<onnx_constant> bias_of(onnx_constant const& from, std::int64_t units) {
  onnx_constant result{{units}, from.values, false};
  if (from.values.size() == 1) result.values.assign(static_cast<std::size_t>(units), from.values[0]);
  bool const fits =
      !from.shape.empty() && from.shape.back() == units && static_cast<std::int64_t>(from.values.size()) == units;
  return fits || from.values.size() == 1 ? std::optional(result) : std::nullopt;
}

void gemm(trace& to, onnx_node const& node) {
  if (node.integer("transA", 0) != 0) throw unsupported("takes its input transposed");
  auto kernel = to.required(node, 1);
  if (kernel.shape.size() != 2 || kernel.values.empty()) throw unsupported("has a constant that is no matrix");
  if (node.integer("transB", 0) != 0) kernel = transposed(kernel, {1, 0});
  for (double& value : kernel.values) value *= static_cast<double>(node.real("alpha", 1));
  auto const summand = to.constant(node, 2);
  std::optional<onnx_constant> bias;
  if (summand) {
    bias = bias_of(*summand, kernel.shape[1]);
    if (!bias) throw unsupported("has a summand that is not one number for each unit");
    for (double& value : bias->values) value *= static_cast<double>(node.real("beta", 1));
  }
  set_dense(to, to.joined_tensor(node, 0), kernel, bias, to.name_of(node, node.inputs[1]), node);
}

void matrix_product(trace& to, onnx_node const& node) {
  if (node.inputs.size() == 2 && to.is_tensor(node, 1)) {
    if (take_attention_product(to, node)) return;
    auto const a = to.in_order(to.tensor(node, 0)), b = to.in_order(to.tensor(node, 1));
    if (a.rank != 3 || b.rank != 3) throw unsupported("is of two tensors of other than three axes");
    return to.set(node, to.call("Dot", {{"axes", {2, 1}}}, {a, b}));
  }
  auto const kernel = to.required(node, 1);
  if (kernel.shape.size() != 2 || kernel.values.empty()) throw unsupported("has a constant that is no matrix");
  auto const* const sum = node.outputs.empty() ? nullptr : to.only_user(node.outputs[0]);
  std::optional<onnx_constant> bias;
  if (sum != nullptr && sum->type == "Add" && sum->domain.empty() && sum->inputs.size() == 2 &&
      to.group_of(*sum) == to.group_of(node)) {
    std::size_t const other = sum->inputs[0] == node.outputs[0] ? 1 : 0;
    if (!to.is_tensor(*sum, other))
      if (auto const summand = to.constant(*sum, other);
          summand && static_cast<int>(summand->shape.size()) <= to.joined_tensor(node, 0).rank)  // else it adds axes
        bias = bias_of(*summand, kernel.shape[1]);
  }
  set_dense(to, to.joined_tensor(node, 0), kernel, bias, to.name_of(node, node.inputs[1]), bias ? *sum : node);
  if (!bias) return;
  to.skip(*sum);
  to.retype(sum->outputs.at(0), to.type_of(node.outputs[0]), to.range_of(node.outputs[0]));
}

}  // namespace

void add_product_converters(std::map<std::string, onnx_converter>& to) {
  to["Gemm"] = gemm, to["MatMul"] = matrix_product;
}

}  // namespace stagecraft::tool
