// SPDX-License-Identifier: BSD-3-Clause
// ONNX's products of whole numbers of 8 bits, whose sums are exact: those of layers that multiply bytes, or of floats,
// as long as no sum can be above 2^24; larger ones are divided into parts that float32 has, which are added in int32.
#include "quantized_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

constexpr int float32 = 1, int32 = 6;
constexpr double most_exact = 0x1p24;

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

/// The largest sum of sizes of numbers, in runs of `run` of them that follow `inner` numbers apart.
double largest_sum(onnx_constant const& kernel, std::size_t outer, std::size_t run, std::size_t inner) {
  double most = 0;
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (std::size_t r = 0; r < run; ++r) sum += std::abs(kernel.values[(o * run + r) * inner + i]);
      most = std::max(most, sum);
    }
  return most;
}

bool are_bytes(onnx_constant const& kernel) {
  return std::all_of(kernel.values.begin(), kernel.values.end(),
                     [](double each) { return each >= -128 && each <= 127 && each == std::round(each); });
}

/// The smallest number of an input without its zero point, if bytes hold all that it may be.
std::optional<double> least_of_bytes(trace& to, onnx_node const& node, std::size_t input, std::size_t zero) {
  if (has_input(node, zero) && to.is_tensor(node, zero)) return std::nullopt;
  auto const range = to.range_of(name_of(node, input));
  auto const from = has_input(node, zero) ? to.range_of(name_of(node, zero)) : value_range{};
  if (from.least != from.most) return std::nullopt;
  double const least = range.least - from.least, most = range.most - from.least;
  return least >= -255 && least <= 0 && most - least <= 255 ? std::optional(least) : std::nullopt;
}

/// A product or a convolution of bytes: its sums, and a bias of whole numbers, are exact, and rounded to float32 once.
std::string of_bytes(trace& to, node_maker const& make, onnx_node product, std::vector<std::string> inputs,
                     double least) {
  product.inputs = std::move(inputs);
  to.say_least_byte(static_cast<int>(least));
  auto sum = make.of(std::move(product));
  to.say_least_byte(std::nullopt);
  return sum;
}

/// True if whoever reads a sum of int32 takes it as floats.
bool is_read_as_real(trace& to, onnx_node const& node) {
  auto const* const user = node.outputs.empty() ? nullptr : to.only_user(node.outputs[0]);
  return user != nullptr && user->type == "Cast" && user->integer("to", 0) == float32;
}

/// A sum of whole numbers; floats if they may be rounded.
struct whole_sum {
  std::string name;
  bool is_rounded = false, has_bias = false;
};

/// The sums of bytes as int32, or as rounded floats if `may_round`; nothing if they need not be exact as floats.
std::optional<whole_sum> sum_of_bytes(trace& to, node_maker const& make, onnx_node const& product,
                                      std::vector<std::string> inputs, double least, double most, bool may_round) {
  if (most > 0x1p31 - 1 || (most > most_exact && !may_round)) return std::nullopt;
  bool const has_bias = inputs.size() > 2;
  auto const sum = of_bytes(to, make, product, std::move(inputs), least);
  if (most <= most_exact) {
    to.retype(sum, int32, {-most, most});
  } else {  // a product that became an operation is one of floats
    onnx_node made;
    made.inputs = {sum};
    if (!to.layer_at(to.tensor(made, 0).layer).config.contains("input_bytes")) return std::nullopt;
  }
  return whole_sum{sum, most > most_exact, has_bias};
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

/// MatMul of whole numbers: inputs a, b and their zero points. Returns the name of the sum.
whole_sum multiplied(trace& to, onnx_node const& node, std::size_t a, std::size_t b, std::size_t a_zero,
                     std::size_t b_zero, bool may_round) {
  node_maker const make(to, node);
  auto const depth = to.length_of(node, a, -1);
  auto const left = centered(to, make, node, a, a_zero);
  double const size = size_of(to, node, a, a_zero);
  if (to.is_tensor(node, b)) {
    double const each = size * size_of(to, node, b, b_zero);
    auto const right = centered(to, make, node, b, b_zero);
    if (each * static_cast<double>(depth) > most_exact) throw unsupported("has sums that float32 may not have");
    return {summed(
        to, make, [&](std::int64_t, std::int64_t) { return make("MatMul", {left, right}); }, depth, depth,
        each * static_cast<double>(depth))};
  }
  auto const rank = to.required(node, b).shape.size();
  auto kernel = without_zero(to, node, b, b_zero, static_cast<int>(rank) - 1);
  kernel.is_whole = false;
  if (rank != 2) {
    double const all = size * largest_sum(kernel, 1, 1, kernel.values.size()) * static_cast<double>(depth);
    if (all > most_exact) throw unsupported("has sums that float32 may not have");
    auto const sum = make("MatMul", {left, to.add_constant(std::move(kernel))});
    to.retype(sum, int32, {-all, all});
    return {sum};
  }
  auto const columns = static_cast<std::size_t>(kernel.shape[1]);
  double const sizes = largest_sum(kernel, 1, static_cast<std::size_t>(kernel.shape[0]), columns);
  double const most = size * sizes;
  if (are_bytes(kernel)) {
    onnx_node product;
    product.type = "MatMul";
    if (auto const least = least_of_bytes(to, node, a, a_zero))
      if (auto const found = sum_of_bytes(to, make, product, {left, to.add_constant(kernel)}, *least, most, may_round))
        return *found;
    // A zero point that is computed is taken away from the sums: (x - z) w = x w - z (sums of w's columns).
    bool const is_computed = has_input(node, a_zero) && to.is_tensor(node, a_zero);
    auto const range = to.range_of(name_of(node, a));
    if (is_computed && range.least >= 0 && range.most <= 255 && 255 * sizes <= most_exact) {
      onnx_constant sums{{kernel.shape[1]}, std::vector<double>(columns), false};
      for (std::size_t i = 0; i < kernel.values.size(); ++i) sums.values[i % columns] += kernel.values[i];
      auto const all = of_bytes(to, make, product, {as_real(make, name_of(node, a)), to.add_constant(kernel)}, 0);
      auto const shift = make("Mul", {as_real(make, name_of(node, a_zero)), to.add_constant(std::move(sums))});
      auto const sum = make("Sub", {all, shift});
      to.retype(sum, int32, {-most, most});
      return {sum};
    }
  }
  double largest = 1;
  for (double const value : kernel.values) largest = std::max(largest, std::abs(value));
  auto const fit = most <= most_exact ? depth : static_cast<std::int64_t>(most_exact / (size * largest));
  int const last = rank_of(to, left) - 1;
  return {summed(
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
      depth, fit, most)};
}

/// Conv of whole numbers; zeros stand around it, whatever the zero point is.
whole_sum convolved(trace& to, onnx_node const& node, std::size_t x, std::size_t w, std::size_t x_zero,
                    std::size_t w_zero, bool may_round, std::size_t bias = 100) {
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
  double largest = 1;
  for (double const value : kernel.values) largest = std::max(largest, std::abs(value));
  double const most = size * largest_sum(kernel, filters, static_cast<std::size_t>(depth * window), 1);
  bool const is_each_channel = depth == 1 && node.integer("group", 1) > 1;
  bool const has_kernel = kernel.shape.size() < 5 && !is_each_channel;  // conv1d and conv2d have one for bytes
  if (auto const least = least_of_bytes(to, node, x, x_zero); least && has_kernel && are_bytes(kernel)) {
    onnx_node product;
    product.type = "Conv", product.attributes = node.attributes;
    std::vector<std::string> inputs{left, to.add_constant(kernel)};
    double most_bias = 0;
    if (has_input(node, bias)) {
      auto summand = to.required(node, bias);
      summand.is_whole = false;
      for (double const each : summand.values) most_bias = std::max(most_bias, std::abs(each));
      if (most_bias <= most_exact && summand.values.size() == filters) inputs.push_back(to.add_constant(summand));
    }
    if (auto const found = sum_of_bytes(to, make, product, inputs, *least, most + most_bias, may_round)) return *found;
  }
  bool const is_exact = most <= most_exact;
  if (!is_exact && node.integer("group", 1) != 1) throw unsupported("has sums that float32 may not have");
  auto const fit =
      is_exact ? depth : static_cast<std::int64_t>(most_exact / (size * largest * static_cast<double>(window)));
  return {summed(
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
      depth, fit, most)};
}

/// Sums of the inputs 0 and 3 with the scales 1, 4 and 6, as QLinearConv and QLinearMatMul have them, and a bias.
void set_rescaled(trace& to, onnx_node const& node, whole_sum const& of, std::int64_t axis, std::size_t bias) {
  node_maker const make(to, node);
  auto sum = of.name;
  int const rank = rank_of(to, sum);
  if (has_input(node, bias) && !of.has_bias)
    sum = make("Add", {sum, to.add_constant(along(to.required(node, bias), axis, rank))});
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

/// The node of the file that dequantizes an input, by one scale or by one for each index of an axis.
onnx_node const* dequantizer_of(trace& to, onnx_node const& node, std::size_t input) {
  if (!has_input(node, input)) return nullptr;
  for (auto const& each : to.graph().nodes) {
    if (each.outputs.empty() || each.outputs[0] != node.inputs[input]) continue;
    bool const is_one = each.type == "DequantizeLinear" && each.domain.empty() && has_input(each, 1) &&
                        each.integer("block_size", 0) == 0 && !to.is_tensor(each, 1) &&
                        !(has_input(each, 2) && to.is_tensor(each, 2));
    return is_one ? &each : nullptr;
  }
  return nullptr;
}

/// Converts a product of two dequantized factors, the second of which is a constant, as one of bytes and scales. False
/// if it is no such product. `axis` is that of the constant's scales, `out` the same axis of the result.
bool take_dequantized(trace& to, onnx_node const& node, onnx_node product, std::int64_t axis, std::int64_t out) {
  auto const* const x = dequantizer_of(to, node, 0);
  auto const* const w = dequantizer_of(to, node, 1);
  if (x == nullptr || w == nullptr || !to.is_tensor(*x, 0) || to.is_tensor(*w, 0)) return false;
  auto const scale = to.required(*x, 1), scales = to.required(*w, 1);
  auto const given = to.required(*w, 0);
  auto const least = least_of_bytes(to, *x, 0, 2);
  auto const rank = static_cast<std::int64_t>(given.shape.size());
  bool const is_kernel = product.type == "Conv" ? rank == 3 || rank == 4 : rank == 2;
  if (!least || !is_kernel || scale.values.size() != 1 || scales.shape.size() > 1 || given.values.empty()) return false;
  auto given_axis = w->integer("axis", 1);
  if (given_axis < 0) given_axis += rank;
  auto const units = given.shape[static_cast<std::size_t>(axis)];
  if (scales.values.size() != 1 && (given_axis != axis || static_cast<std::int64_t>(scales.values.size()) != units))
    return false;
  auto kernel = without_zero(to, *w, 0, 2, static_cast<int>(axis));
  kernel.is_whole = false;
  auto const inner = axis == 0 ? std::size_t{1} : static_cast<std::size_t>(units);
  auto const run = kernel.values.size() / static_cast<std::size_t>(units);
  double const most = size_of(to, *x, 0, 2) * (axis == 0 ? largest_sum(kernel, static_cast<std::size_t>(units), run, 1)
                                                         : largest_sum(kernel, 1, run, inner));
  bool const is_each_channel = product.type == "Conv" && kernel.shape[1] == 1 && node.integer("group", 1) > 1;
  if (!are_bytes(kernel) || is_each_channel || most > 0x1p31 - 1) return false;
  if (product.type != "Conv" && axis == 0) kernel = transposed(kernel, {1, 0});
  node_maker const make(to, node);
  auto y = of_bytes(to, make, std::move(product), {centered(to, make, *x, 0, 2), to.add_constant(std::move(kernel))},
                    *least);
  int const axes = rank_of(to, y);
  auto factor = along(scales, out, axes);
  for (double& each : factor.values)
    each = static_cast<double>(static_cast<float>(each) * static_cast<float>(scale.values[0]));
  factor.is_whole = false;
  y = make("Mul", {y, to.add_constant(std::move(factor))});
  if (has_input(node, 2)) y = make("Add", {y, to.add_constant(along(to.required(node, 2), out, axes))});
  to.set_alias(node, y, 0);
  return true;
}

/// The converter that takes products of dequantized factors first.
onnx_converter or_of_dequantized(onnx_converter const& of_floats) {
  return [=](trace& to, onnx_node const& node) {
    bool const is_gemm = node.type == "Gemm", has_bias = has_input(node, 2);
    onnx_node product;
    product.type = is_gemm ? "MatMul" : node.type;
    if (node.type == "Conv") product.attributes = node.attributes;
    bool is_taken = !has_bias || !to.is_tensor(node, 2);
    if (is_gemm) {
      is_taken = is_taken && node.integer("transA", 0) == 0 && node.real("alpha", 1) == 1 && node.real("beta", 1) == 1;
      if (is_taken && has_bias) is_taken = to.required(node, 2).shape.size() < 2;
    }
    std::int64_t const axis = node.type == "Conv" || (is_gemm && node.integer("transB", 0) != 0) ? 0 : 1;
    if (!is_taken || !take_dequantized(to, node, std::move(product), axis, node.type == "Conv" ? 1 : -1))
      of_floats(to, node);
  };
}

void set_sum(trace& to, onnx_node const& node, whole_sum const& sum) {
  auto const range = to.range_of(sum.name);
  to.set_alias(node, sum.name, 0);
  to.retype(node.outputs.at(0), sum.is_rounded ? float32 : int32, range);
}

}  // namespace

void add_whole_products(std::map<std::string, onnx_converter>& to) {
  for (char const* const product : {"Conv", "MatMul", "Gemm"}) to[product] = or_of_dequantized(to.at(product));
  to["MatMulInteger"] = [](trace& t, onnx_node const& node) {
    set_sum(t, node, multiplied(t, node, 0, 1, 2, 3, is_read_as_real(t, node)));
  };
  to["ConvInteger"] = [](trace& t, onnx_node const& node) {
    set_sum(t, node, convolved(t, node, 0, 1, 2, 3, is_read_as_real(t, node)));
  };
  constexpr std::size_t none = 100;
  to["QLinearMatMul"] = [](trace& t, onnx_node const& node) {
    set_rescaled(t, node, multiplied(t, node, 0, 3, 2, 5, true), -1, none);
  };
  to["QLinearConv"] = [](trace& t, onnx_node const& node) {
    set_rescaled(t, node, convolved(t, node, 0, 3, 2, 5, true, 8), 1, 8);
  };
}

}  // namespace stagecraft::tool
