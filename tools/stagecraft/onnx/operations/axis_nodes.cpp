// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes that move along axes, as operations: reductions, parts, joins, products, normalizations.
#include "operation_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;
using integers = std::vector<std::int64_t>;

/// The axes of the graph that a node reduces, from an attribute or an input.
std::vector<int> reduced_axes(trace& to, onnx_node const& node, int rank) {
  auto const given = to.constant(node, 1);
  auto axes = given ? given->integers() : node.integers("axes", {});
  std::vector<int> result;
  for (auto const axis : axes) result.push_back(axis_of(axis, rank));
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
    for (int i = 0; i < rank; ++i) result.push_back(i);
  return result;
}

/// ops.sum, ops.mean, ops.max or ops.min over places of a complete tensor.
traced_tensor reduced(trace& to, traced_tensor const& x, own_text word, own_text function,
                      std::vector<int> const& places) {
  auto lengths = x.lengths;
  for (int const place : places) lengths[at(place) - 1] = 1;
  auto const text = list_text(places);
  return like(
      x, to.operate({word, [=](operands const& a) { return source_text(function) + "(" + a[0] + ", {" + text + "})"; }},
                    {x}, lengths));
}

traced_tensor each(trace& to, traced_tensor const& x, own_text word, operation_code const& code) {
  return each_number(to, x, word, code);
}

traced_tensor of_two(trace& to, traced_tensor const& a, traced_tensor const& b, own_text word, own_text sign) {
  return like(a, to.operate({word, [=](operands const& x) { return x[0] + sign + x[1]; }}, {a, b}, a.lengths));
}

source_text squared(operands const& x) { return x[0] + " * " + x[0]; }

onnx_converter reduction(std::string const& kind) {
  return [=](trace& to, onnx_node const& node) {
    auto x = to.complete(to.tensor(node, 0));
    auto const axes = reduced_axes(to, node, x.rank);
    std::vector<int> places;
    for (int const axis : axes) places.push_back(place_in_sample(x, axis));
    std::sort(places.begin(), places.end());
    if (std::adjacent_find(places.begin(), places.end()) != places.end()) throw unsupported("has an axis twice");
    traced_tensor y = x;
    if (kind == "L1") y = each(to, y, "absolute", [](operands const& a) { return "abs("_cpp + a[0] + ")"; });
    if (kind == "L2" || kind == "SumSquare") y = each(to, y, "square", squared);
    traced_tensor largest;
    if (kind == "LogSumExp") {
      largest = reduced(to, x, "largest", "ops.max", places);
      y = like(x, to.operate({"exponential", [](operands const& a) { return "exp("_cpp + a[0] + " - " + a[1] + ")"; }},
                             {x, largest}, x.lengths));
    }
    if (!places.empty()) {
      if (kind == "Mean")
        y = reduced(to, y, "mean", "ops.mean", places);
      else if (kind == "Max")
        y = reduced(to, y, "largest", "ops.max", places);
      else if (kind == "Min")
        y = reduced(to, y, "smallest", "ops.min", places);
      else
        y = reduced(to, y, "sum", "ops.sum", places);
    }
    if (kind == "Mean" && x.elements != element_kind::real)
      y = each(to, y, "whole", [](operands const& a) { return truncated(a[0]); });
    if (kind == "L2") y = each(to, y, "root", [](operands const& a) { return "sqrt("_cpp + a[0] + ")"; });
    if (kind.starts_with("Log"))
      y = each(to, y, "logarithm", [](operands const& a) { return "log("_cpp + a[0] + ")"; });
    if (kind == "LogSumExp") y = of_two(to, y, largest, "sum", " + ");
    if (node.integer("keepdims", 1) == 0) y = without_axes(to, y, axes);
    to.set(node, y);
  };
}

/// Softmax and its logarithm along axes: along one axis, or along all from one on before opset 13.
onnx_converter softmax(bool is_logarithm) {
  return [=](trace& to, onnx_node const& node) {
    auto const x = to.complete(to.tensor(node, 0));
    bool const is_flat = to.graph().opset < 13;
    int const axis = axis_of(node.integer("axis", is_flat ? 1 : -1), x.rank);
    std::vector<int> places;
    for (int i = axis; i < (is_flat ? x.rank : axis + 1); ++i) places.push_back(place_in_sample(x, i));
    std::sort(places.begin(), places.end());
    auto const largest = reduced(to, x, "largest", "ops.max", places);
    auto const below = of_two(to, x, largest, "difference", " - ");
    auto const powers = each(to, below, "exponential", [](operands const& a) { return "exp("_cpp + a[0] + ")"; });
    auto const sum = reduced(to, powers, "sum", "ops.sum", places);
    if (is_logarithm) {
      auto const logarithm = each(to, sum, "logarithm", [](operands const& a) { return "log("_cpp + a[0] + ")"; });
      return to.set(node, of_two(to, below, logarithm, "difference", " - "));
    }
    auto y = of_two(to, powers, sum, "quotient", " / ");
    y.is_nonnegative = true;
    to.set(node, y);
  };
}

/// Repeats a tensor along axes of length 1.
void expand(trace& to, onnx_node const& node) {
  auto x = to.tensor(node, 0);
  auto const given = to.lengths(node, 1);
  if (!given) throw unsupported("lacks its shape");
  auto const& wanted = *given;
  int const rank = std::max(x.rank, static_cast<int>(wanted.values.size()));
  if (x.fused_axis >= 0 || !x.flat_order.empty()) x = to.complete(x);
  move_axes(x, rank - x.rank);
  x = to.complete(x);
  auto lengths = x.lengths;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    int const axis = rank - static_cast<int>(wanted.values.size()) + static_cast<int>(i);
    double const length = wanted.values[i];
    if (x.order[0] == axis) {
      if (length != batch_marker && length != 1 && length != -1) {
        auto const& of_file = to.graph().inputs.at(0).shape;
        if (of_file.empty() || static_cast<double>(of_file[0]) != length) throw unsupported("repeats samples");
      }
      continue;
    }
    auto& own = lengths[at(place_in_sample(x, axis)) - 1];
    if (length == 1 || length == own || length == -1) continue;
    if (own != 1 || length < 1 || length > (1 << 30)) throw unsupported("has a shape that does not fit its input");
    own = static_cast<int>(length);
  }
  if (lengths == x.lengths) return to.set(node, x);
  to.set(node, like(x, to.operate({"repeated",
                                   [=](operands const& a) {
                                     return "ops.broadcast("_cpp + a[0] + ", " + shape_text(a[0], lengths) + ")";
                                   }},
                                  {x}, lengths)));
}

/// The lengths of a product of matrices, which are the last two axes of operands of equal rank; the other axes
/// broadcast.
std::vector<int> lengths_of_product(std::array<std::vector<std::int64_t>, 2> const& shape) {
  auto const& [a, b] = shape;
  auto const last = a.size() - 1;
  if (a[last] != b[last - 1]) throw unsupported("has a matrix that does not fit its input");
  std::vector<int> lengths;
  for (std::size_t i = 0; i + 1 < last; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) throw unsupported("has inputs whose lengths do not fit");
    lengths.push_back(static_cast<int>(std::max(a[i], b[i])));
  }
  lengths.push_back(static_cast<int>(a[last - 1])), lengths.push_back(static_cast<int>(b[last]));
  return lengths;
}
/// Writes the product; a constant stands after the tensors in `x`, wherever the node has it.
void write_product(traced_operation& made, bool begins_with_tensor) {
  std::size_t const first = begins_with_tensor ? 0 : 1;
  made.code = [first](operands const& x) { return "ops.matmul("_cpp + x[first] + ", " + x[1 - first] + ")"; };
}

/// A product of matrices in a graph without samples: vectors are rows on the left and columns on the right.
void product_of_all(trace& to, onnx_node const& node) {
  if (node.inputs.size() != 2) throw unsupported("lacks inputs");
  std::array<std::vector<std::int64_t>, 2> shape;
  std::array<int, 2> ranks{};
  std::vector<traced_tensor> tensors;
  traced_operation made{"matrix_product", {}};
  for (std::size_t i = 0; i < 2; ++i)
    ranks[i] = to.is_tensor(node, i) ? to.tensor(node, i).rank : static_cast<int>(to.required(node, i).shape.size());
  if (ranks[0] < 1 || ranks[1] < 1) throw unsupported("is of a single number");
  int const rank = std::max({ranks[0], ranks[1], 2});
  std::array<bool, 2> is_tensor{};
  for (std::size_t i = 0; i < 2; ++i) {
    is_tensor[i] = to.is_tensor(node, i);
    bool const is_column = i == 1 && ranks[1] == 1;
    if (is_tensor[i]) {
      auto x = to.tensor(node, i);
      if (x.fused_axis >= 0) x = to.complete(x);
      move_axes(x, rank - x.rank - (is_column ? 1 : 0));
      x.rank = rank;
      x = to.complete_in_order(x);
      shape[i].assign(x.lengths.begin(), x.lengths.end());
      tensors.push_back(x);
    } else {
      auto constant = to.required(node, i);
      if (is_column) constant.shape.push_back(1);
      constant.shape.insert(constant.shape.begin(), at(rank) - constant.shape.size(), 1);
      shape[i] = constant.shape;
      constant.shape.insert(constant.shape.begin(), 1);
      made.constants.push_back(constant), made.names.push_back(constant_name(node.inputs[i]));
    }
  }
  auto const lengths = lengths_of_product(shape);
  write_product(made, is_tensor[0]);
  std::vector<int> units;
  if (ranks[0] == 1) units.push_back(rank - 2);
  if (ranks[1] == 1) units.push_back(rank - 1);
  to.set(node, without_axes(to, to.operate(std::move(made), tensors, lengths), units));
}

/// A product of the last two axes of tensors, or of a tensor and a constant with more axes than a matrix.
void matrix_product(trace& to, onnx_node const& node) {
  if (to.is_one_sample()) return product_of_all(to, node);
  if (node.inputs.size() != 2) throw unsupported("lacks inputs");
  std::array<std::vector<std::int64_t>, 2> shape;  // the axis of samples excluded
  std::vector<traced_tensor> tensors;
  traced_operation made{"matrix_product", {}};
  int rank = 0;
  for (std::size_t i = 0; i < 2; ++i)
    rank = std::max(
        rank, to.is_tensor(node, i) ? to.tensor(node, i).rank : static_cast<int>(to.required(node, i).shape.size()));
  if (rank < 3) throw unsupported("joins samples with another axis");
  std::array<bool, 2> is_tensor{};
  for (std::size_t i = 0; i < 2; ++i) {
    is_tensor[i] = to.is_tensor(node, i);
    if (!is_tensor[i]) {
      auto constant = to.required(node, i);
      if (constant.shape.size() < 2) throw unsupported("has a constant that is no matrix");
      constant.shape.insert(constant.shape.begin(), at(rank) - constant.shape.size(), 1);
      if (constant.shape[0] != 1) throw unsupported("has a constant with a row for each sample");
      shape[i].assign(constant.shape.begin() + 1, constant.shape.end());
      made.constants.push_back(constant), made.names.push_back(constant_name(node.inputs[i]));
      continue;
    }
    auto const x = to.in_order(to.complete(to.tensor(node, i)));
    if (x.rank != rank) throw unsupported("is of two tensors of different ranks");
    shape[i].assign(x.lengths.begin(), x.lengths.end());
    tensors.push_back(x);
  }
  auto const lengths = lengths_of_product(shape);
  write_product(made, is_tensor[0]);
  to.set(node, to.operate(std::move(made), tensors, lengths));
}

/// Normalizes groups of channels; each channel has a scale and a bias.
void normalize_groups(trace& to, onnx_node const& node, std::int64_t groups) {
  auto const& given = to.tensor(node, 0);
  if (given.rank < 3) throw unsupported("has an input of " + std::to_string(given.rank) + " axes");
  auto const x = to.channels_last(given);
  std::int64_t const channels = x.lengths.back();
  if (groups == 0) groups = channels;
  if (groups < 1 || channels % groups != 0) throw unsupported("has groups that do not fit its channels");
  auto const spread = [&](onnx_constant values) {
    if (static_cast<std::int64_t>(values.values.size()) != channels &&
        static_cast<std::int64_t>(values.values.size()) == groups) {
      auto const few = values.values;
      values.values.clear();
      for (std::int64_t i = 0; i < channels; ++i)
        values.values.push_back(few[static_cast<std::size_t>(i / (channels / groups))]);
    }
    values.shape = {static_cast<std::int64_t>(values.values.size())};
    return values;
  };
  json const config{{"groups", groups}, {"epsilon", static_cast<double>(node.real("epsilon", 1e-5F))}};
  auto y = to.call("GroupNormalization", config, {x}, {spread(to.required(node, 1)), spread(to.required(node, 2))},
                   to.name_of(node, node.inputs[1]));
  y.rank = x.rank, y.order = x.order;
  to.set(node, y);
}

}  // namespace

traced_tensor without_axes(trace& to, traced_tensor const& x, std::vector<int> const& axes) {
  auto const goes = [&](int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  std::vector<int> lengths, order{x.order[0]};
  for (std::size_t i = 1; i < x.order.size(); ++i)
    if (!goes(x.order[i])) lengths.push_back(x.lengths[i - 1]), order.push_back(x.order[i]);
  if (lengths.empty() && order[0] == no_axis) lengths.push_back(1), order.push_back(unit_axis);
  auto y = x;
  if (lengths != x.lengths)
    y = to.operate(
        {"shaped",
         [=](operands const& a) { return "ops.reshape("_cpp + a[0] + ", " + shape_text(a[0], lengths) + ")"; }},
        {x}, lengths);
  for (int& axis : order)
    axis -= static_cast<int>(std::count_if(axes.begin(), axes.end(), [&](int each) { return each < axis; }));
  y.rank = x.rank - static_cast<int>(axes.size()), y.order = order, y.elements = x.elements;
  return y;
}

void add_axis_converters(std::map<std::string, onnx_converter>& to) {
  auto const also = [&](char const* type, onnx_converter const& more) { to[type] = either(to.at(type), more); };
  for (std::string const kind : {"Sum", "Min", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"})
    to["Reduce" + kind] = reduction(kind);
  also("ReduceMean", reduction("Mean")), also("ReduceMax", reduction("Max"));
  auto const layers_softmax = either(to.at("Softmax"), softmax(false));
  to["Softmax"] = [=](trace& t, onnx_node const& node) {
    if (t.graph().opset >= 13) return layers_softmax(t, node);
    auto const& x = t.tensor(node, 0);
    axis_of(node.integer("axis", 1), x.rank) == x.rank - 1 ? layers_softmax(t, node) : softmax(false)(t, node);
  };
  to["LogSoftmax"] = softmax(true);
  to["Expand"] = expand;
  also("MatMul", matrix_product);
  to["InstanceNormalization"] = [](trace& t, onnx_node const& node) { normalize_groups(t, node, 0); };
  to["GroupNormalization"] = [](trace& t, onnx_node const& node) {
    normalize_groups(t, node, node.integer("num_groups", -1));
  };
}

}  // namespace stagecraft::tool
