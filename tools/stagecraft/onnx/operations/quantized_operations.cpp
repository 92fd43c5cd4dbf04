// SPDX-License-Identifier: BSD-3-Clause
// ONNX's products of whole numbers of 8 bits. Their sums are exact: float32 has each sum whose largest possible size is
// at most 2^24, and others are divided into parts that float32 has, which are added in int32.
#include "made_nodes.hpp"
#include "onnx/onnx_folding.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

constexpr int float32 = 1, int32 = 6;
constexpr double most_exact = 0x1p24;

std::string const& name_of(onnx_node const& node, std::size_t input) {
  static std::string const none;
  return input < node.inputs.size() ? node.inputs[input] : none;
}

/// The numbers of an input as floats.
std::string as_real(node_maker const& make, std::string const& name) { return make("Cast", {name}, {{"to", float32}}); }

bool is_zero(trace& to, onnx_node const& node, std::size_t input) {
  if (!has_input(node, input)) return true;
  if (to.is_tensor(node, input)) return false;
  auto const values = to.required(node, input).values;
  return std::all_of(values.begin(), values.end(), [](double each) { return each == 0; });
}

/// An input without its zero point, as floats.
std::string centered(trace& to, node_maker const& make, onnx_node const& node, std::size_t input, std::size_t zero) {
  auto const x = as_real(make, name_of(node, input));
  return is_zero(to, node, zero) ? x : make("Sub", {x, as_real(make, name_of(node, zero))});
}

/// The largest size of an input without its zero point.
double size_of(trace& to, onnx_node const& node, std::size_t input, std::size_t zero) {
  auto const range = to.range_of(name_of(node, input));
  auto const from = has_input(node, zero) ? to.range_of(name_of(node, zero)) : value_range{};
  return std::max(range.most - from.least, from.most - range.least);
}

/// A constant of one axis along `axis` of `rank` axes, which numbers beside it are broadcast with.
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

/// A constant without its zero point, which may have a number for each index of `axis`.
onnx_constant without_zero(trace& to, onnx_node const& node, std::size_t input, std::size_t zero, int axis) {
  auto x = to.required(node, input);
  if (is_zero(to, node, zero)) return x;
  auto const point = to.required(node, zero);
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < x.shape.size(); ++i)
    inner *= static_cast<std::size_t>(x.shape[i]);
  auto const length = static_cast<std::size_t>(x.shape.at(static_cast<std::size_t>(axis)));
  if (point.values.size() != 1 && (point.shape.size() != 1 || point.values.size() != length))
    throw unsupported("has zero points that do not fit its input");
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] -= point.values[point.values.size() == 1 ? 0 : i / inner % length];
  return x;
}

/// y = saturated(round(x factor) + zero), or x / scale in place of x factor, of a type of 8 or 16 bits.
void set_quantized(trace& to, onnx_node const& node, std::string const& x, onnx_constant scale, bool divides,
                   std::optional<onnx_constant> zero, std::string const& dynamic_scale = "",
                   std::string const& dynamic_zero = "") {
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

void quantize(trace& to, onnx_node const& node) {
  if (node.integer("block_size", 0) != 0) throw unsupported("has scales of blocks");
  node_maker const make(to, node);
  auto const x = as_real(make, name_of(node, 0));
  int const rank = rank_of(to, x);
  auto const axis = node.integer("axis", 1);
  auto scale = to.required(node, 1);
  auto zero = to.constant(node, 2);
  if (zero && is_zero(to, node, 2)) zero.reset();
  if (zero) zero = along(*zero, axis, rank);
  set_quantized(to, node, x, along(std::move(scale), axis, rank), true, zero);
}

void dequantize(trace& to, onnx_node const& node) {
  if (node.integer("block_size", 0) != 0) throw unsupported("has scales of blocks");
  if (range_of_type(to.type_of(name_of(node, 0))).least == -INFINITY)
    throw unsupported("takes numbers of a type that is not here");
  node_maker const make(to, node);
  auto const axis = node.integer("axis", 1);
  auto x = name_of(node, 0);
  int const rank = rank_of(to, x);
  if (!is_zero(to, node, 2)) {
    auto zero = along(to.required(node, 2), axis, rank);
    if (to.range_of(x).is_exact()) x = as_real(make, x), zero.is_whole = false;  // else exact in int32
    x = make("Sub", {x, to.add_constant(std::move(zero))});
  }
  auto scale = along(to.required(node, 1), axis, rank);
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

/// A product of floats that are whole numbers.
using part_maker = std::function<std::string(std::int64_t first, std::int64_t count)>;

/// The sum of the products of `depth` pairs, of which those of `fit` at once are exact; with its range.
std::string summed(trace& to, node_maker const& make, part_maker const& part, std::int64_t depth, std::int64_t fit,
                   double most) {
  constexpr std::int64_t most_parts = 64;
  if (fit < 1 || (depth + fit - 1) / fit > most_parts)
    throw unsupported("has sums that float32 and int32 may not have");
  if (most > 0x1p31 - 1) throw unsupported("may leave the range of int32");
  std::string sum;
  for (std::int64_t first = 0; first < depth; first += fit) {
    auto const count = std::min(fit, depth - first);
    auto const one = part(first, count);
    double const size = std::min(most, most_exact);
    to.retype(one, int32, {-size, size});
    sum = sum.empty() ? one : make("Add", {sum, one});
  }
  to.retype(sum, int32, {-most, most});
  return sum;
}

/// The columns' largest sum of sizes.
double largest_sum(onnx_constant const& matrix, std::size_t columns) {
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < matrix.values.size(); ++i) sums[i % columns] += std::abs(matrix.values[i]);
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

/// MatMul of whole numbers: inputs a, b and their zero points. Returns the name of the sum.
std::string multiplied(trace& to, onnx_node const& node, std::size_t a, std::size_t b, std::size_t a_zero,
                       std::size_t b_zero) {
  node_maker const make(to, node);
  auto const depth = to.length_of(node, a, -1);
  auto const left = centered(to, make, node, a, a_zero);
  double const size = size_of(to, node, a, a_zero);
  if (to.is_tensor(node, b)) {
    double const each = size * size_of(to, node, b, b_zero);
    auto const right = centered(to, make, node, b, b_zero);
    if (each * static_cast<double>(depth) > most_exact) throw unsupported("has sums that float32 may not have");
    return summed(
        to, make, [&](std::int64_t, std::int64_t) { return make("MatMul", {left, right}); }, depth, depth,
        each * static_cast<double>(depth));
  }
  auto const rank = to.required(node, b).shape.size();
  if (rank != 2) throw unsupported("has a constant that is no matrix");
  auto kernel = without_zero(to, node, b, b_zero, 1);
  kernel.is_whole = false;
  auto const columns = static_cast<std::size_t>(kernel.shape[1]);
  double const most = size * largest_sum(kernel, columns);
  double largest = 1;
  for (double const value : kernel.values) largest = std::max(largest, std::abs(value));
  auto const fit = most <= most_exact ? depth : static_cast<std::int64_t>(most_exact / (size * largest));
  int const last = rank_of(to, left) - 1;
  return summed(
      to, make,
      [&](std::int64_t first, std::int64_t count) {
        auto part = kernel;
        part.shape[0] = count;
        auto const begin = kernel.values.begin() + first * kernel.shape[1];
        part.values.assign(begin, begin + count * kernel.shape[1]);
        auto x = left;
        if (count != depth)
          x = make("Slice",
                   {left, make.whole({static_cast<double>(first)}), make.whole({static_cast<double>(first + count)}),
                    make.whole({static_cast<double>(last)})});
        return make("MatMul", {x, to.add_constant(std::move(part))});
      },
      depth, fit, most);
}

/// Conv of whole numbers; zeros stand around it, whatever the zero point is.
std::string convolved(trace& to, onnx_node const& node, std::size_t x, std::size_t w, std::size_t x_zero,
                      std::size_t w_zero) {
  node_maker const make(to, node);
  auto kernel = without_zero(to, node, w, w_zero, 0);
  kernel.is_whole = false;
  if (kernel.shape.size() < 3) throw unsupported("has a kernel of fewer than three axes");
  auto const left = centered(to, make, node, x, x_zero);
  double const size = size_of(to, node, x, x_zero);
  auto const filters = static_cast<std::size_t>(kernel.shape[0]);
  auto const depth = kernel.shape[1];
  auto const window = static_cast<std::int64_t>(kernel.values.size() / std::max<std::size_t>(filters, 1)) /
                      std::max<std::int64_t>(depth, 1);
  double most = 0, largest = 1;
  for (std::size_t i = 0; i < filters; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth * window; ++k) {
      double const each =
          std::abs(kernel.values[i * static_cast<std::size_t>(depth * window) + static_cast<std::size_t>(k)]);
      sum += each, largest = std::max(largest, each);
    }
    most = std::max(most, size * sum);
  }
  bool const is_exact = most <= most_exact;
  if (!is_exact && node.integer("group", 1) != 1) throw unsupported("has sums that float32 may not have");
  auto const fit =
      is_exact ? depth : static_cast<std::int64_t>(most_exact / (size * largest * static_cast<double>(window)));
  return summed(
      to, make,
      [&](std::int64_t first, std::int64_t count) {
        onnx_node made;
        made.type = "Conv", made.attributes = node.attributes;
        auto part = kernel;
        auto in = left;
        if (count != depth) {
          part.shape[1] = count, part.values.clear();
          for (std::size_t i = 0; i < filters; ++i) {
            auto const begin = kernel.values.begin() + (static_cast<std::int64_t>(i) * depth + first) * window;
            part.values.insert(part.values.end(), begin, begin + count * window);
          }
          in = make("Slice", {left, make.whole({static_cast<double>(first)}),
                              make.whole({static_cast<double>(first + count)}), make.whole({1})});
        }
        made.inputs = {in, to.add_constant(std::move(part))};
        return make.of(std::move(made));
      },
      depth, fit, most);
}

/// Sums of the inputs 0 and 3 with the scales 1, 4 and 6, as QLinearConv and QLinearMatMul have them, and a bias.
void set_rescaled(trace& to, onnx_node const& node, std::string sum, std::int64_t axis, std::size_t bias) {
  node_maker const make(to, node);
  int const rank = rank_of(to, sum);
  if (has_input(node, bias)) sum = make("Add", {sum, to.add_constant(along(to.required(node, bias), axis, rank))});
  auto factor = along(to.required(node, 4), axis, rank);
  auto const x_scale = to.required(node, 1), y_scale = to.required(node, 6);
  if (x_scale.values.size() != 1 || y_scale.values.size() != 1) throw unsupported("has several scales of one tensor");
  for (double& each : factor.values)
    each = static_cast<double>(static_cast<float>(x_scale.values[0]) * static_cast<float>(each) /
                               static_cast<float>(y_scale.values[0]));
  auto zero = to.constant(node, 7);
  if (zero && is_zero(to, node, 7)) zero.reset();
  if (zero) zero = along(*zero, axis, rank);
  set_quantized(to, node, as_real(make, sum), std::move(factor), false, zero);
}

void set_sum(trace& to, onnx_node const& node, std::string const& sum) {
  auto const range = to.range_of(sum);
  to.set_alias(node, sum, 0);
  to.retype(node.outputs.at(0), int32, range);
}

}  // namespace

void add_quantized_operations(std::map<std::string, onnx_converter>& to) {
  to["QuantizeLinear"] = quantize, to["DequantizeLinear"] = dequantize;
  to["DynamicQuantizeLinear"] = dynamic_quantize;
  to["MatMulInteger"] = [](trace& t, onnx_node const& node) { set_sum(t, node, multiplied(t, node, 0, 1, 2, 3)); };
  to["ConvInteger"] = [](trace& t, onnx_node const& node) { set_sum(t, node, convolved(t, node, 0, 1, 2, 3)); };
  constexpr std::size_t none = 100;
  to["QLinearMatMul"] = [](trace& t, onnx_node const& node) {
    set_rescaled(t, node, multiplied(t, node, 0, 3, 2, 5), -1, none);
  };
  to["QLinearConv"] = [](trace& t, onnx_node const& node) {
    set_rescaled(t, node, convolved(t, node, 0, 3, 2, 5), 1, 8);
  };
}

}  // namespace stagecraft::tool
