// SPDX-License-Identifier: BSD-3-Clause
// Reductions and running sums of whole numbers that float32 may not hold: of halves in int32, whose order does not
// matter since they wrap.
#include "made_nodes.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// The elements from `first` on up to `end` along an axis, backwards if `step` is -1.
std::string cut(node_maker const& make, std::string const& x, std::int64_t axis, std::int64_t first, std::int64_t end,
                std::int64_t step = 1) {
  auto const one = [&](std::int64_t number) { return make.whole({static_cast<double>(number)}); };
  return make("Slice", {x, one(first), one(end), one(axis), one(step)});
}

std::int64_t length_of(trace& to, std::string const& x, std::int64_t axis) {
  onnx_node made;
  made.inputs = {x};
  return to.length_of(made, 0, axis);
}

/// ReduceSum and its kin: `operation` of all elements along the axes.
onnx_converter reduction(char const* operation, char const* of_each = nullptr) {
  return [=](trace& to, onnx_node const& node) {
    node_maker const make(to, node);
    auto x = node.inputs.at(0);
    int const rank = to.tensor(node, 0).rank;
    auto const given = to.constant(node, 1);
    auto axes = given ? given->integers() : node.integers("axes", {});
    if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
      for (int i = 0; i < rank; ++i) axes.push_back(i);
    for (auto& axis : axes) axis = axis_of(axis, rank);
    if (of_each != nullptr) x = std::string(of_each) == "Mul" ? make("Mul", {x, x}) : make(of_each, {x});
    for (auto const axis : axes)
      for (auto length = length_of(to, x, axis); length > 1; length = (length + 1) / 2) {
        auto const half = length / 2;
        auto const sum = make(operation, {cut(make, x, axis, 0, half), cut(make, x, axis, half, 2 * half)});
        x = length % 2 == 0 ? sum : make("Concat", {sum, cut(make, x, axis, 2 * half, length)}, {{"axis", axis}});
      }
    if (node.integer("keepdims", 1) != 0 || axes.empty()) return to.set_alias(node, x, 0);
    onnx_node made;
    made.inputs = {x};
    to.set(node, without_axes(to, to.complete(to.tensor(made, 0)), {axes.begin(), axes.end()}));
  };
}

/// CumSum and CumProd: each step adds the sums of twice as many elements.
onnx_converter running(char const* operation, bool is_product) {
  return [=](trace& to, onnx_node const& node) {
    node_maker const make(to, node);
    auto x = node.inputs.at(0);
    int const rank = to.tensor(node, 0).rank;
    auto const axis = axis_of(to.required(node, 1).integers().at(0), rank);
    auto const length = length_of(to, x, axis);
    bool const is_back = node.integer("reverse", 0) != 0;
    constexpr std::int64_t before_first = -(1 << 30);
    auto const flipped = [&](std::string const& of) { return cut(make, of, axis, length - 1, before_first, -1); };
    if (is_back && length > 1) x = flipped(x);
    auto const given = x;
    for (std::int64_t distance = 1; distance < length; distance *= 2) {
      auto const sum =
          make(operation, {cut(make, x, axis, distance, length), cut(make, x, axis, 0, length - distance)});
      x = make("Concat", {cut(make, x, axis, 0, distance), sum}, {{"axis", axis}});
    }
    if (node.integer("exclusive", 0) != 0) {
      auto const begin = cut(make, given, axis, 0, 1);
      auto first = make("Sub", {begin, begin});
      if (is_product) first = make("Add", {first, make("Cast", {make.real(1)}, {{"to", to.type_of(node.inputs[0])}})});
      x = length == 1 ? first : make("Concat", {first, cut(make, x, axis, 0, length - 1)}, {{"axis", axis}});
    }
    to.set_alias(node, is_back && length > 1 ? flipped(x) : x, 0);
  };
}

/// Trilu: the other numbers become 0.
void triangle(trace& to, onnx_node const& node) {
  auto const x = to.complete_in_order(to.tensor(node, 0));
  auto const k = to.constant(node, 1);
  if (x.lengths.size() < 2) throw unsupported("joins samples with another axis");
  if (k && k->values.size() != 1) throw unsupported("has more than one diagonal");
  constexpr std::int64_t most = 1 << 20;
  auto const diagonal = k ? std::clamp(k->integers()[0], -most, most) : 0;
  auto const word = node.integer("upper", 1) != 0 ? "ops.triu("_cpp : "ops.tril("_cpp;
  to.set(node, like(x, to.operate({"triangle",
                                   [=](std::vector<source_text> const& a) {
                                     return a[0] + " * ops.cast(" + word + "ops.full(" + a[0] + ".shape(), 1.0F), " +
                                            number_text(diagonal) + "), sc::dtype::int32)";
                                   }},
                                  {x}, x.lengths)));
}

}  // namespace

void add_word_reductions(std::map<std::string, onnx_converter>& to) {
  to["ReduceSum"] = reduction("Add"), to["ReduceProd"] = reduction("Mul");
  to["ReduceMax"] = reduction("Max"), to["ReduceMin"] = reduction("Min");
  to["ReduceL1"] = reduction("Add", "Abs"), to["ReduceSumSquare"] = reduction("Add", "Mul");
  to["Trilu"] = triangle;
  to["CumSum"] = running("Add", false), to["CumProd"] = running("Mul", true);
}

}  // namespace stagecraft::tool
