// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes for which `ops` has a composed word.
#include "operation_nodes.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

onnx_converter function(own_text word, own_text name) {
  return [=](trace& to, onnx_node const& node) {
    to.set(node, each_number(to, to.tensor(node, 0), word,
                             [=](operands const& x) { return source_text(name) + "(" + x[0] + ")"; }));
  };
}

onnx_converter truth_of(own_text word, operation_code const& code) {
  return [=](trace& to, onnx_node const& node) {
    auto y = each_number(to, to.tensor(node, 0), word, code);
    y.elements = element_kind::truth;
    to.set(node, y);
  };
}

void is_infinite(trace& to, onnx_node const& node) {
  auto const text_of = [](bool value) { return value ? "true"_cpp : "false"_cpp; };
  auto const above = text_of(node.integer("detect_positive", 1) != 0),
             below = text_of(node.integer("detect_negative", 1) != 0);
  truth_of("infinite", [=](operands const& x) { return "isinf("_cpp + x[0] + ", " + above + ", " + below + ")"; })(
      to, node);
}

/// The place of the largest or smallest element of an axis.
onnx_converter place_of(own_text word, own_text name) {
  return [=](trace& to, onnx_node const& node) {
    auto const x = to.complete(to.tensor(node, 0));
    int const axis = axis_of(node.integer("axis", 0), x.rank), place = place_in_sample(x, axis);
    bool const is_last = node.integer("select_last_index", 0) != 0;
    auto lengths = x.lengths;
    lengths[at(place) - 1] = 1;
    auto y = like(x, to.operate({word,
                                 [=](operands const& a) {
                                   return source_text(name) + "(" + a[0] + ", " + number_text(place) +
                                          (is_last ? ", true)"_cpp : ")"_cpp);
                                 }},
                                {x}, lengths));
    y.elements = element_kind::whole;
    to.set(node, node.integer("keepdims", 1) != 0 ? y : without_axes(to, y, {axis}));
  };
}

onnx_converter cumulative(own_text word, own_text name) {
  return [=](trace& to, onnx_node const& node) {
    auto const x = to.complete(to.tensor(node, 0));
    auto const axis = to.required(node, 1);
    if (axis.values.size() != 1) throw unsupported("has more than one axis");
    int const place = place_in_sample(x, axis.integers()[0]);
    bool const excludes = node.integer("exclusive", 0) != 0, is_back = node.integer("reverse", 0) != 0;
    to.set(node, like(x, to.operate({word,
                                     [=](operands const& a) {
                                       return source_text(name) + "(" + a[0] + ", " + number_text(place) + ", " +
                                              (excludes ? "true"_cpp : "false"_cpp) + ", " +
                                              (is_back ? "true"_cpp : "false"_cpp) + ")";
                                     }},
                                    {x}, x.lengths)));
  };
}

/// Turns squares of places into channels, and back.
onnx_converter blocks(bool is_to_depth) {
  return [=](trace& to, onnx_node const& node) {
    auto const& given = to.tensor(node, 0);
    if (given.rank != 4) throw unsupported("has an input of " + std::to_string(given.rank) + " axes");
    auto const x = to.channels_last(given);
    auto const size = node.integer("blocksize", 0);
    auto const mode = node.text("mode", "DCR");
    if (size < 1 || size > 4096 || (mode != "DCR" && mode != "CRD"))
      throw unsupported("has a size or a mode that is not here");
    int const block = static_cast<int>(size), area = block * block;
    auto lengths = x.lengths;
    bool const fits = is_to_depth ? lengths[0] % block == 0 && lengths[1] % block == 0 : lengths[2] % area == 0;
    if (!fits) throw unsupported("has a size that does not fit its input");
    for (std::size_t i = 0; i < 2; ++i) lengths[i] = is_to_depth ? lengths[i] / block : lengths[i] * block;
    lengths[2] = is_to_depth ? lengths[2] * area : lengths[2] / area;
    bool const has_places_first = mode == "DCR";
    to.set(node, like(x, to.operate({is_to_depth ? own_text("blocks_to_channels") : own_text("channels_to_blocks"),
                                     [=](operands const& a) {
                                       return (is_to_depth ? "ops.space_to_depth("_cpp : "ops.depth_to_space("_cpp) +
                                              a[0] + ", " + number_text(block) +
                                              (has_places_first ? ")"_cpp : ", false)"_cpp);
                                     }},
                                    {x}, lengths)));
  };
}

/// Keeps the upper or the lower triangle of the last two axes from a diagonal on; the rest becomes 0.
void triangle(trace& to, onnx_node const& node) {
  auto const x = to.complete_in_order(to.tensor(node, 0));
  auto const k = to.constant(node, 1);
  if (x.lengths.size() < 2) throw unsupported("joins samples with another axis");
  if (k && k->values.size() != 1) throw unsupported("has more than one diagonal");
  auto const diagonal = k ? std::clamp<std::int64_t>(k->integers()[0], -(1 << 20), 1 << 20) : 0;
  bool const is_upper = node.integer("upper", 1) != 0;
  to.set(node, like(x, to.operate({"triangle",
                                   [=](operands const& a) {
                                     return (is_upper ? "ops.triu("_cpp : "ops.tril("_cpp) + a[0] + ", " +
                                            number_text(diagonal) + ")";
                                   }},
                                  {x}, x.lengths)));
}

/// Repeats a whole tensor along axes.
void tile(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  auto const counts = to.required(node, 1).integers();
  if (counts.size() != at(x.rank)) throw unsupported("has other counts than its input has axes");
  auto lengths = x.lengths;
  std::vector<int> own{1};
  for (std::size_t i = 0; i < x.order.size(); ++i) {
    auto const count = x.order[i] < 0 ? 1 : counts[at(x.order[i])];
    if (count < 1 || count > (1 << 20) || (i == 0 && count != 1)) throw unsupported("repeats samples, or not at all");
    if (i == 0) continue;
    own.push_back(static_cast<int>(count));
    if (std::int64_t{lengths[i - 1]} * count > (1 << 30)) throw unsupported("gives more than 2^30 elements");
    lengths[i - 1] *= static_cast<int>(count);
  }
  auto const text = list_text(own);
  to.set(node,
         like(x, to.operate({"tiled", [=](operands const& a) { return "ops.tile("_cpp + a[0] + ", {" + text + "})"; }},
                            {x}, lengths)));
}

/// Divides x by the root of its mean square along the last axes, and multiplies by a scale.
void rms_normalization(trace& to, onnx_node const& node) {
  auto const x = to.complete_in_order(to.tensor(node, 0));
  std::vector<int> places;
  for (int i = axis_of(node.integer("axis", -1), x.rank); i < x.rank; ++i) places.push_back(place_in_sample(x, i));
  auto const text = list_text(places), epsilon = float_text(node.real("epsilon", 1e-5F));
  onnx_node scaled;
  auto const normalized = like(x, to.operate({"rms_normalized",
                                              [=](operands const& a) {
                                                return a[0] + " / sqrt(ops.mean(" + a[0] + " * " + a[0] + ", {" + text +
                                                       "}) + " + epsilon + ")";
                                              }},
                                             {x}, x.lengths));
  to.set(node, normalized);
  scaled.inputs = {node.outputs.at(0), node.inputs.at(1)};
  auto const y = broadcast_operation(to, scaled, 2, "product", [](operands const& a) { return a[0] + " * " + a[1]; });
  if (y.lengths != x.lengths) throw unsupported("has a scale of other axes");
  to.set(node, y);
}

void lp_normalization(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  int const place = place_in_sample(x, node.integer("axis", -1));
  auto const p = node.integer("p", 2);
  if (p != 1 && p != 2) throw unsupported("is of another norm than the first two");
  // Rows of zeros stay zeros.
  to.set(node, like(x, to.operate({"unit_norm",
                                   [=](operands const& a) {
                                     auto const norm = (p == 1 ? "ops.l1_norm("_cpp : "ops.l2_norm("_cpp) + a[0] +
                                                       ", {" + number_text(place) + "})";
                                     return a[0] + " / sc::maximum(" + norm + ", 1.2e-38F)";
                                   }},
                                  {x}, x.lengths)));
}

/// The products along axes.
void product(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  auto const given = to.constant(node, 1);
  auto axes = given ? given->integers() : node.integers("axes", {});
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return to.set(node, x);
  if (axes.empty())
    for (int i = 0; i < x.rank; ++i) axes.push_back(i);
  if (axes.size() > at(x.rank)) throw unsupported("is along samples, which stay apart here");
  auto lengths = x.lengths;
  std::vector<int> places, taken;
  for (auto const axis : axes) {
    taken.push_back(axis_of(axis, x.rank)), places.push_back(place_in_sample(x, axis));
    lengths[at(places.back()) - 1] = 1;
  }
  auto const text = list_text(places);
  auto const y = like(
      x, to.operate({"product_over", [=](operands const& a) { return "ops.prod("_cpp + a[0] + ", {" + text + "})"; }},
                    {x}, lengths));
  to.set(node, node.integer("keepdims", 1) != 0 ? y : without_axes(to, y, taken));
}

}  // namespace

void add_composed_converters(std::map<std::string, onnx_converter>& to) {
  to["Acos"] = function("angle_of_cosine", "acos"), to["Acosh"] = function("angle_of_cosh", "acosh");
  to["Asin"] = function("angle_of_sine", "asin"), to["Asinh"] = function("angle_of_sinh", "asinh");
  to["Atan"] = function("angle_of_tangent", "atan"), to["Atanh"] = function("angle_of_tanh", "atanh");
  to["Cosh"] = function("hyperbolic_cosine", "cosh"), to["Sinh"] = function("hyperbolic_sine", "sinh");
  to["Tan"] = function("tangent", "tan"), to["Round"] = function("rounded", "round");
  to["IsNaN"] = truth_of("no_number", [](operands const& x) { return "isnan("_cpp + x[0] + ")"; }),
  to["IsInf"] = is_infinite;
  to["ArgMax"] = place_of("place_of_largest", "ops.argmax"), to["ArgMin"] = place_of("place_of_smallest", "ops.argmin");
  to["CumSum"] = cumulative("running_sum", "ops.cumsum"), to["CumProd"] = cumulative("running_product", "ops.cumprod");
  to["DepthToSpace"] = blocks(false), to["SpaceToDepth"] = blocks(true);
  to["Trilu"] = triangle, to["Tile"] = tile, to["ReduceProd"] = product;
  to["RMSNormalization"] = rms_normalization, to["LpNormalization"] = lp_normalization;
}

}  // namespace stagecraft::tool
