// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's node Attention (opset 23) to products, masks and a softmax.
#include "made_nodes.hpp"

#include <cmath>
#include <limits>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

struct attention_node {
  bool has_heads = false;  ///< inputs have four axes, one of which counts heads
  std::int64_t heads = 1, key_heads = 1, queries = 1, keys = 1, width = 1, past = 0;
};

int rank_of(trace& to, onnx_node const& node, std::size_t input) {
  return to.is_tensor(node, input) ? to.tensor(node, input).rank
                                   : static_cast<int>(to.required(node, input).shape.size());
}

attention_node description_of(trace& to, onnx_node const& node) {
  for (std::size_t i = 0; i < 3; ++i)
    if (!has_input(node, i)) throw unsupported("lacks inputs");
  attention_node made;
  int const rank = rank_of(to, node, 0);
  if ((rank != 3 && rank != 4) || rank_of(to, node, 1) != rank || rank_of(to, node, 2) != rank)
    throw unsupported("has inputs of other than three or four axes");
  made.has_heads = rank == 4;
  made.queries = to.length_of(node, 0, -2), made.keys = to.length_of(node, 1, -2);
  made.heads = made.has_heads ? to.length_of(node, 0, 1) : node.integer("q_num_heads", 0);
  made.key_heads = made.has_heads ? to.length_of(node, 1, 1) : node.integer("kv_num_heads", 0);
  if (made.heads < 1 || made.key_heads < 1 || made.heads % made.key_heads != 0)
    throw unsupported("has numbers of heads that do not fit each other");
  made.width = to.length_of(node, 0, -1);
  if (!made.has_heads) {
    if (made.width % made.heads != 0) throw unsupported("has heads that do not fit its width");
    made.width /= made.heads;
  }
  if (has_input(node, 4) != has_input(node, 5)) throw unsupported("has one past of two");
  if (has_input(node, 4)) made.past = to.length_of(node, 4, 2);
  return made;
}

/// Attention where data says how many keys of each sample are no padding; its queries are the last of them.
std::string positions_in_padded(trace& to, onnx_node const& node, attention_node const& of) {
  node_maker const make(to, node);
  auto const left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  auto const count = make("Reshape", {make("Cast", {node.inputs[6]}, {{"to", 1}}), make.whole({0, 1, 1, 1})});
  // Key j stands at the query i if j - i + queries is the number of keys.
  onnx_constant keys{{1, 1, 1, of.keys}, {}, false}, distances{{1, 1, of.queries, of.keys}, {}, false};
  if (of.queries * of.keys > (1 << 24)) throw unsupported("has a mask of this size");
  for (std::int64_t j = 0; j < of.keys; ++j) keys.values.push_back(static_cast<double>(j));
  for (std::int64_t i = 0; i < of.queries; ++i)
    for (std::int64_t j = 0; j < of.keys; ++j) distances.values.push_back(static_cast<double>(j - i + of.queries));
  auto const distance = to.add_constant(std::move(distances));
  auto seen = make("Greater", {count, to.add_constant(std::move(keys))});
  auto const shifted = [&](std::int64_t by) { return make("Add", {count, make.real(static_cast<double>(by))}); };
  if (node.integer("is_causal", 0) != 0) seen = make("And", {seen, make("GreaterOrEqual", {count, distance})});
  if (left >= 0) seen = make("And", {seen, make("LessOrEqual", {shifted(-left), distance})});
  if (right >= 0) seen = make("And", {seen, make("GreaterOrEqual", {shifted(right), distance})});
  return make("Where", {seen, make.real(0), make.real(-std::numeric_limits<double>::infinity())});
}

/// The keys that each query may see, as numbers that are added to scores: 0, or minus infinity. Empty if it sees all.
std::string positions(trace& to, onnx_node const& node, attention_node const& of) {
  if (has_input(node, 6)) {
    if (of.past > 0) throw unsupported("has a past and padded keys");
    return positions_in_padded(to, node, of);
  }
  bool const is_causal = node.integer("is_causal", 0) != 0;
  auto const left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  if (!is_causal && left < 0 && right < 0) return "";
  auto const all = of.past + of.keys;
  constexpr std::int64_t most = 1 << 24;
  if (of.queries * all > most) throw unsupported("has a mask of this size");
  onnx_constant mask{{of.queries, all}, {}, false};
  for (std::int64_t i = 0; i < of.queries; ++i)
    for (std::int64_t j = 0; j < all; ++j) {
      auto const at = of.past + i;
      bool const is_seen = (!is_causal || j <= at) && (left < 0 || j >= at - left) && (right < 0 || j <= at + right);
      mask.values.push_back(is_seen ? 0 : -std::numeric_limits<double>::infinity());
    }
  return to.add_constant(std::move(mask));
}

/// A mask that is shorter than the keys hides those that it does not name.
std::string of_all_keys(trace& to, onnx_node const& node, std::string const& mask, std::int64_t keys) {
  int const rank = rank_of(to, node, 3);
  if (rank < 1) throw unsupported("has a mask of other axes");
  auto const known = to.is_tensor(node, 3) ? to.length_of(node, 3, -1) : to.required(node, 3).shape.back();
  if (known == keys || known == 1) return mask;
  if (known > keys || !to.is_one_sample()) throw unsupported("has a mask that does not fit its keys");
  onnx_constant hidden{{}, {}, false};
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    auto const length = to.is_tensor(node, 3) ? to.length_of(node, 3, axis)
                                              : to.required(node, 3).shape[static_cast<std::size_t>(axis)];
    hidden.shape.push_back(axis + 1 == rank ? keys - known : length), count *= hidden.shape.back();
    if (count > (1 << 24)) throw unsupported("has a mask of this size");
  }
  hidden.values.assign(static_cast<std::size_t>(count), -std::numeric_limits<double>::infinity());
  return node_maker(to, node)("Concat", {mask, to.add_constant(std::move(hidden))}, {{"axis", rank - 1}});
}

void attention(trace& to, onnx_node const& node) {
  auto const of = description_of(to, node);
  // A softmax in doubles that is rounded to float32 is one of float32 but for rounding.
  constexpr std::int64_t float32 = 1, float64 = 11;
  auto const precision = node.integer("softmax_precision", float32);
  if (precision != float32 && precision != float64) throw unsupported("has a softmax of another precision");
  node_maker const make(to, node);
  auto const four = [](double a, double b, double c, double d) { return std::vector<double>{a, b, c, d}; };
  auto const turned = [&](std::string const& x, std::vector<std::int64_t> const& order) {
    return make.turned(x, order);
  };
  auto const apart = [&](std::size_t input, std::int64_t heads) {
    auto const& x = node.inputs[input];
    if (of.has_heads) return x;
    return turned(make("Reshape", {x, make.whole(four(0, 0, static_cast<double>(heads), -1))}), {0, 2, 1, 3});
  };
  auto q = apart(0, of.heads), k = apart(1, of.key_heads), v = apart(2, of.key_heads);
  if (of.past > 0) {
    k = make("Concat", {node.inputs[4], k}, {{"axis", 2}});
    v = make("Concat", {node.inputs[5], v}, {{"axis", 2}});
  }
  to.set_alias(node, k, 1), to.set_alias(node, v, 2);
  if (auto const copies = of.heads / of.key_heads; copies > 1) {
    auto const repeated = [&](std::string const& x) {
      auto const wide = make("Unsqueeze", {x, make.whole({2})});
      auto const all = make("Expand", {wide, make.whole({1, 1, static_cast<double>(copies), 1, 1})});
      auto const shape = four(0, static_cast<double>(of.heads), static_cast<double>(of.past + of.keys), -1);
      return make("Reshape", {all, make.whole(shape)});
    };
    k = repeated(k), v = repeated(v);
  }
  auto const scale = node.real("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(of.width))));
  auto scores = make("MatMul", {q, turned(k, {0, 1, 3, 2})});
  scores = make("Mul", {scores, make.real(static_cast<double>(scale))});
  // The fourth output holds the scores as they are, after the cap, after masks, or after the softmax.
  bool const is_shown = node.outputs.size() > 3 && !node.outputs[3].empty() && to.is_taken(node.outputs[3]);
  auto const shown = node.integer("qk_matmul_output_mode", 0);
  if (is_shown && (shown < 0 || shown > 3)) throw unsupported("returns scores of mode " + std::to_string(shown));
  auto const show = [&](std::int64_t mode, std::string const& x) {
    if (is_shown && mode == shown) to.set_alias(node, x, 3);
  };
  show(0, scores);
  auto const seen = positions(to, node, of);
  bool const has_mask = has_input(node, 3);
  if (auto const cap = static_cast<double>(node.real("softcap", 0)); cap != 0) {
    scores = make("Mul", {make("Tanh", {make("Div", {scores, make.real(cap)})}), make.real(cap)});
  }
  show(1, scores);
  if (has_mask) {
    constexpr int boolean = 9;
    auto mask = node.inputs[3];
    if (to.type_of(mask) == boolean)
      mask = make("Where", {mask, make.real(0), make.real(-std::numeric_limits<double>::infinity())});
    mask = of_all_keys(to, node, mask, of.past + of.keys);
    scores = make("Add", {scores, mask});
  }
  if (!seen.empty()) scores = make("Add", {scores, seen});
  show(2, scores);
  auto weights = make("Softmax", {scores}, {{"axis", -1}});
  // A query that sees no key has the output 0.
  if (has_mask || !seen.empty()) weights = make("Where", {make("IsNaN", {weights}), make.real(0), weights});
  show(3, weights);
  auto y = make("MatMul", {weights, v});
  if (!of.has_heads) y = make("Reshape", {turned(y, {0, 2, 1, 3}), make.whole({0, 0, -1})});
  to.set_alias(node, y, 0);
}

}  // namespace

void add_attention_operations(std::map<std::string, onnx_converter>& to) { to["Attention"] = attention; }

}  // namespace stagecraft::tool
