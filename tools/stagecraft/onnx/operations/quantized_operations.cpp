// SPDX-License-Identifier: BSD-3-Clause
// ONNX's conversions to and from whole numbers of 8 and 16 bits.
#include "quantized_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

using trace = onnx_trace;
using operands = std::vector<source_text>;

std::string const& name_of(onnx_node const& node, std::size_t input) {
  static std::string const none;
  return input < node.inputs.size() ? node.inputs[input] : none;
}

std::string as_real(node_maker const& make, std::string const& name) { return make("Cast", {name}, {{"to", 1}}); }

bool is_zero(trace& to, onnx_node const& node, std::size_t input) {
  if (!has_input(node, input)) return true;
  if (to.is_tensor(node, input)) return false;
  auto const values = to.required(node, input).values;
  return std::all_of(values.begin(), values.end(), [](double each) { return each == 0; });
}

onnx_constant along(onnx_constant of, std::int64_t axis, int rank) {
  if (of.values.size() == 1) {
    of.shape.clear();
    return of;
  }
  if (of.shape.size() != 1) throw unsupported("has scales of more than one axis");
  int const place = axis_of(axis, rank);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank - place), 1);
  shape[0] = of.shape[0], of.shape = shape;
  return of;
}

void set_quantized(trace& to, onnx_node const& node, std::string const& x, onnx_constant scale, bool divides,
                   std::optional<onnx_constant> zero, std::string const& dynamic_scale,
                   std::string const& dynamic_zero) {
  int const type = to.type_of(node.outputs.at(0));
  constexpr int least_type = 2, last_type = 5;
  if (type < least_type || type > last_type) throw unsupported("makes numbers of a type that is not here");
  auto const range = range_of_type(type);
  onnx_node made;
  made.inputs = {x, dynamic_scale.empty() ? to.add_constant(std::move(scale)) : dynamic_scale};
  bool const has_zero = zero || !dynamic_zero.empty();
  if (has_zero) {
    if (zero) zero->is_whole = false;
    made.inputs.push_back(zero ? to.add_constant(std::move(*zero)) : dynamic_zero);
  }
  auto const least = float_text(range.least), most = float_text(range.most);
  auto y = broadcast_operation(to, made, made.inputs.size(), "quantized", [=](operands const& a) {
    auto const rounded = "round("_cpp + a[0] + (divides ? " / "_cpp : " * "_cpp) + a[1] + ")";
    return "sc::minimum(sc::maximum("_cpp + rounded + (has_zero ? " + "_cpp + a[2] : ""_cpp) + ", " + least + "), " +
           most + ")";
  });
  y.elements = element_kind::whole;
  to.set(node, y);
}

int rank_of(trace& to, std::string const& name) {
  onnx_node made;
  made.inputs = {name};
  return to.tensor(made, 0).rank;
}

namespace {

/// A constant with one number for each block of `size` along an axis, as one with a number for each element of the
/// tensor; others with the axis where it stands in the tensor.
onnx_constant spread(trace& to, onnx_node const& node, onnx_constant of, std::int64_t axis, std::string const& x) {
  int const rank = rank_of(to, x);
  auto const size = node.integer("block_size", 0);
  if (size == 0) return along(std::move(of), axis, rank);
  auto const place = static_cast<std::size_t>(axis_of(axis, rank));
  onnx_node made;
  made.inputs = {x};
  auto const length = to.length_of(made, 0, axis);
  if (size < 1 || of.shape.size() != static_cast<std::size_t>(rank) || of.values.empty() ||
      of.shape[place] != (length + size - 1) / size)
    throw unsupported("has scales of blocks that do not fit its input");
  std::size_t inner = 1;
  for (std::size_t i = place + 1; i < of.shape.size(); ++i) inner *= static_cast<std::size_t>(of.shape[i]);
  auto const blocks = static_cast<std::size_t>(of.shape[place]);
  std::vector<double> values;
  for (std::size_t outer = 0; outer < of.values.size() / blocks / inner; ++outer)
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i)
      for (std::size_t k = 0; k < inner; ++k)
        values.push_back(of.values[(outer * blocks + i / static_cast<std::size_t>(size)) * inner + k]);
  of.shape[place] = length, of.values = std::move(values);
  return of;
}

void quantize(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const x = as_real(make, name_of(node, 0));
  auto const axis = node.integer("axis", 1);
  if (to.is_tensor(node, 1)) {  // one scale that is computed
    if (rank_of(to, name_of(node, 1)) != 0) throw unsupported("has scales of an axis that are no constants");
    bool const is_computed = has_input(node, 2) && to.is_tensor(node, 2);
    auto zero = is_computed ? std::nullopt : to.constant(node, 2);
    if (zero) zero->shape.clear();
    return set_quantized(to, node, x, {}, true, zero, name_of(node, 1),
                         is_computed ? as_real(make, name_of(node, 2)) : "");
  }
  auto scale = to.required(node, 1);
  auto zero = to.constant(node, 2);
  if (zero && is_zero(to, node, 2)) zero.reset();
  if (zero) zero = spread(to, node, *zero, axis, x);
  set_quantized(to, node, x, spread(to, node, std::move(scale), axis, x), true, zero);
}

void dequantize(trace& to, onnx_node const& node) {
  if (range_of_type(to.type_of(name_of(node, 0))).least == -INFINITY)
    throw unsupported("takes numbers of a type that is not here");
  node_maker const make(to, node);
  auto const axis = node.integer("axis", 1);
  auto x = name_of(node, 0);
  if (!is_zero(to, node, 2)) {
    auto zero = spread(to, node, to.required(node, 2), axis, x);
    if (to.range_of(x).is_exact()) x = as_real(make, x), zero.is_whole = false;  // else exact in int32
    x = make("Sub", {x, to.add_constant(std::move(zero))});
  }
  auto scale = spread(to, node, to.required(node, 1), axis, name_of(node, 0));
  to.set_alias(node, make("Mul", {as_real(make, x), to.add_constant(std::move(scale))}), 0);
}

/// Scale and zero point follow from the least and the largest of all numbers.
void dynamic_quantize(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const zero = make.real(0);
  auto const extreme = [&](char const* reduction, char const* with) {
    return make(with, {make(reduction, {name_of(node, 0)}, {{"keepdims", 0}}), zero});
  };
  auto const least = extreme("ReduceMin", "Min"), most = extreme("ReduceMax", "Max");
  auto const scale = make("Div", {make("Sub", {most, least}), make.real(255)});
  auto const point = make("Clip", {make("Round", {make("Div", {make("Neg", {least}), scale})}), zero, make.real(255)});
  set_quantized(to, node, name_of(node, 0), {}, true, std::nullopt, scale, point);
  to.set_alias(node, scale, 1), to.set_alias(node, point, 2);
  constexpr int uint8 = 2;
  if (node.outputs.size() > 2) to.retype(node.outputs[2], uint8, range_of_type(uint8));
}

}  // namespace

void add_quantized_operations(std::map<std::string, onnx_converter>& to) {
  to["QuantizeLinear"] = quantize, to["DequantizeLinear"] = dequantize;
  to["DynamicQuantizeLinear"] = dynamic_quantize;
  add_whole_products(to);
}

}  // namespace stagecraft::tool
