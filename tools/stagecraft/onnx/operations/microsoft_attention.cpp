// SPDX-License-Identifier: BSD-3-Clause
// onnxruntime's own operators of transformers, with packed weights and sums of embeddings, as nodes of ONNX.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// `count` columns of a matrix or elements of a row, from `first` on.
onnx_constant columns(onnx_constant const& of, std::int64_t first, std::int64_t count) {
  auto const width = of.shape.back();
  onnx_constant result{of.shape, {}, false};
  result.shape.back() = count;
  for (auto row = of.values.begin(); row != of.values.end(); row += width)
    result.values.insert(result.values.end(), row + first, row + first + count);
  return result;
}

/// True where a query may look at a key, with all of the axes of attention's scores.
std::string mask_of(trace& to, node_maker const& make, onnx_node const& node) {
  constexpr std::int64_t boolean = 9;
  auto const mask = node.inputs[3];
  int const rank = to.tensor(node, 3).rank;
  if (rank == 1) {  // the number of keys of each sample
    onnx_constant places{{1, to.length_of(node, 0, 1)}, {}, true};
    for (std::int64_t i = 0; i < places.shape[1]; ++i) places.values.push_back(static_cast<double>(i));
    auto const less = make("Less", {to.add_constant(std::move(places)), make("Unsqueeze", {mask, make.whole({1})})});
    return make("Unsqueeze", {less, make.whole({1, 2})});
  }
  auto const truth = make("Cast", {mask}, {{"to", boolean}});
  if (rank == 2) return make("Unsqueeze", {truth, make.whole({1, 2})});
  if (rank == 3) return make("Unsqueeze", {truth, make.whole({1})});
  throw unsupported("has a mask of other axes");
}

/// Attention whose queries, keys and values are one product.
void packed_attention(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const kernel = to.required(node, 1);
  if (kernel.shape.size() != 2 || kernel.values.empty()) throw unsupported("has a constant that is no matrix");
  auto const bias = to.constant(node, 2);
  auto sizes = node.integers("qkv_hidden_sizes", {});
  if (sizes.empty()) sizes.assign(3, kernel.shape[1] / 3);
  bool const fits = sizes.size() == 3 && std::all_of(sizes.begin(), sizes.end(), [](auto each) { return each > 0; }) &&
                    sizes[0] + sizes[1] + sizes[2] == kernel.shape[1];
  if (!fits || (bias && bias->values.size() != static_cast<std::size_t>(kernel.shape[1])))
    throw unsupported("has weights that do not fit its heads");
  constexpr float most_mask = -1000;
  if (node.real("mask_filter_value", -10000) > most_mask) throw unsupported("adds little where its mask is 0");
  std::vector<std::string> parts;
  std::int64_t first = 0;
  for (auto const size : sizes) {
    auto part = make("MatMul", {node.inputs.at(0), to.add_constant(columns(kernel, first, size))});
    if (bias) part = make("Add", {part, to.add_constant(columns(*bias, first, size))});
    parts.push_back(std::move(part)), first += size;
  }
  onnx_node made;
  made.type = "Attention", made.inputs = parts;
  if (has_input(node, 3)) made.inputs.push_back(mask_of(to, make, node));
  auto const set_number = [&](char const* name, std::int64_t value) {
    auto& attribute = made.attributes[name];
    attribute.kind = onnx_kind::integer, attribute.integer = value;
  };
  auto const heads = node.integer("num_heads", 0);
  set_number("q_num_heads", heads), set_number("kv_num_heads", heads);
  if (node.integer("unidirectional", 0) != 0) set_number("is_causal", 1);
  if (float const scale = node.real("scale", 0); scale != 0) made.attributes["scale"] = *node.find("scale");
  to.set_alias(node, make.of(std::move(made)), 0);
}

/// The sum of embeddings of words, places and segments, normalized.
void embed(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (node.inputs.size() < 7) throw unsupported("lacks inputs");
  auto sum = make("Gather", {node.inputs[2], node.inputs[0]});
  if (has_input(node, 8)) {
    sum = make("Add", {sum, make("Gather", {node.inputs[3], node.inputs[8]})});
  } else {
    auto places = to.required(node, 3);
    auto const steps = to.length_of(node, 0, 1);
    if (places.shape.size() != 2 || places.shape[0] < steps) throw unsupported("has fewer places than steps");
    places.values.resize(static_cast<std::size_t>(steps * places.shape[1])), places.shape[0] = steps;
    sum = make("Add", {sum, to.add_constant(std::move(places))});
  }
  if (has_input(node, 1) && has_input(node, 4))
    sum = make("Add", {sum, make("Gather", {node.inputs[4], node.inputs[1]})});
  onnx_node made;
  made.type = "LayerNormalization", made.inputs = {sum, node.inputs[5], node.inputs[6]};
  auto& epsilon = made.attributes["epsilon"];
  epsilon.kind = onnx_kind::real, epsilon.real = node.real("epsilon", 1e-12F);
  to.set_alias(node, make.of(std::move(made)), 0);
  to.set_alias(node, sum, 2);
  if (node.outputs.size() < 2 || !to.is_taken(node.outputs[1])) return;
  if (!has_input(node, 7)) throw unsupported("has an output 1 without a mask");
  constexpr std::int64_t float32 = 1, boolean = 9;
  constexpr int int32 = 6;
  auto const truth = make("Cast", {make("Cast", {node.inputs[7]}, {{"to", boolean}})}, {{"to", float32}});
  to.set_alias(node, make("ReduceSum", {truth, make.whole({1})}, {{"keepdims", 0}}), 1);
  to.retype(node.outputs[1], int32, {0, static_cast<double>(to.length_of(node, 7, 1))});
}

}  // namespace

void add_microsoft_attention(std::map<std::string, onnx_converter>& to) {
  auto const of_onnx = to.at("Attention");
  to["Attention"] = [=](trace& t, onnx_node const& node) {
    node.domain == "com.microsoft" ? packed_attention(t, node) : of_onnx(t, node);
  };
  to["EmbedLayerNormalization"] = embed;
}

}  // namespace stagecraft::tool
