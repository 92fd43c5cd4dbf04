// SPDX-License-Identifier: BSD-3-Clause
// Exports layers of sequences: embedding, recurrent layers, attention.
#include "onnx_export.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using call = exported_call;
using integers = std::vector<std::int64_t>;

onnx_output embedding(call const& c) {
  if (c.option("mask_zero", false)) throw unsupported("makes a mask, which is not exported");
  auto const indices = c.to.node("Cast", {c.last().name}, {{"to", std::int64_t{7}}});
  return c.result(c.to.node("Gather", {c.add_weight(0), indices}));
}

std::string type_of_activation(json const& config, char const* option, char const* by_default) {
  static std::map<std::string, std::string> const types{{"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
                                                        {"relu", "Relu"},         {"hard_sigmoid", "HardSigmoid"},
                                                        {"softsign", "Softsign"}, {"softplus", "Softplus"}};
  auto const found = types.find(exported_call::value_in<std::string>(config, option, by_default));
  if (found == types.end()) throw unsupported(std::string("has the ") + option + " " + config.at(option).dump());
  return found->second;
}

/// Columns of gates in another order, transposed: (n, gates * units) is (gates * units, n).
onnx_constant gates_of(onnx_constant const& from, std::vector<std::size_t> const& gates) {
  auto result = transposed(from, {1, 0});
  auto const size = result.values.size() / gates.size();
  auto const before = result.values;
  for (std::size_t i = 0; i < gates.size(); ++i)
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(gates[i] * size), size,
                result.values.begin() + static_cast<std::ptrdiff_t>(i * size));
  return result;
}

struct recurrent_kind {
  std::string type;
  std::vector<std::size_t> gates;  ///< for each of ONNX's gates, the place of Keras's
};

recurrent_kind kind_of(std::string const& layer) {
  if (layer == "LSTM") return {"LSTM", {0, 3, 1, 2}};
  if (layer == "GRU") return {"GRU", {0, 1, 2}};
  if (layer == "SimpleRNN") return {"RNN", {0}};
  throw unsupported("has a " + layer + " inside it");
}

/// Writes a recurrent node of one or two directions, whose kernels and biases follow each other. `config` is that of
/// one direction.
onnx_output recurrent(call const& c, std::string const& layer, json const& config, std::size_t directions) {
  auto const kind = kind_of(layer);
  auto const flag = [&](char const* name) { return call::value_in(config, name, false); };
  if (flag("return_state") || flag("stateful") || flag("time_major")) throw unsupported("gives or keeps its state");
  bool const gives_steps = flag("return_sequences"), is_backward = flag("go_backwards");
  if (is_backward && (gives_steps || directions > 1)) throw unsupported("goes backwards, and gives all steps");
  auto const units = config.at("units").get<std::int64_t>();
  auto const rows = units * static_cast<std::int64_t>(kind.gates.size());
  bool const has_bias = call::value_in(config, "use_bias", true),
             resets_after = kind.type == "GRU" && call::value_in(config, "reset_after", true);
  std::vector<onnx_constant> all(3);
  std::vector<std::string> activations;
  std::size_t at = 0;
  for (std::size_t d = 0; d < directions; ++d) {
    std::vector<onnx_constant> parts{gates_of(c.weight(at++), kind.gates), gates_of(c.weight(at++), kind.gates)};
    onnx_constant both{{2 * rows}, std::vector<double>(static_cast<std::size_t>(2 * rows), 0), false};
    if (has_bias) {
      auto bias = c.weight(at++);
      auto const biases = bias.values.size() / static_cast<std::size_t>(rows);
      for (std::size_t k = 0; k < biases; ++k) {
        onnx_constant one{{1, rows}, {}, false};
        auto const first = bias.values.begin() + static_cast<std::ptrdiff_t>(k) * rows;
        one.values.assign(first, first + rows);
        one = gates_of(one, kind.gates);
        std::copy(one.values.begin(), one.values.end(), both.values.begin() + static_cast<std::ptrdiff_t>(k) * rows);
      }
    }
    parts.push_back(both);
    for (std::size_t i = 0; i < 3; ++i) {
      if (d == 0)
        all[i].shape = parts[i].shape, all[i].shape.insert(all[i].shape.begin(), static_cast<std::int64_t>(directions));
      all[i].values.insert(all[i].values.end(), parts[i].values.begin(), parts[i].values.end());
    }
    auto const inner = type_of_activation(config, "activation", "tanh");
    if (kind.type != "RNN") activations.push_back(type_of_activation(config, "recurrent_activation", "sigmoid"));
    activations.push_back(inner);
    if (kind.type == "LSTM") activations.push_back(inner);
  }
  std::vector<onnx_option> options{{"hidden_size", units}, {"activations", activations}};
  if (directions > 1) options.push_back({"direction", std::string("bidirectional")});
  if (is_backward) options.push_back({"direction", std::string("reverse")});
  if (resets_after) options.push_back({"linear_before_reset", std::int64_t{1}});
  // ONNX puts the axis of steps first.
  auto const x = c.to.node("Transpose", {c.last().name}, {{"perm", integers{1, 0, 2}}});
  auto const y =
      c.to.node(kind.type, {x, c.add(all[0], "kernel"), c.add(all[1], "recurrent_kernel"), c.add(all[2], "bias")},
                options, gives_steps ? 0 : 1);
  auto const width = units * static_cast<std::int64_t>(directions);
  if (gives_steps) {  // (steps, directions, samples, units)
    auto const turned = c.to.node("Transpose", {y}, {{"perm", integers{2, 0, 1, 3}}});
    return c.result(c.to.node("Reshape", {turned, c.to.integers({0, 0, width})}));
  }
  if (directions == 1) return c.result(c.to.node("Squeeze", {y, c.to.integers({0})}));
  auto const turned = c.to.node("Transpose", {y}, {{"perm", integers{1, 0, 2}}});
  return c.result(c.to.node("Reshape", {turned, c.to.integers({0, width})}));
}

onnx_output bidirectional(call const& c) {
  if (c.option<std::string>("merge_mode", "concat") != "concat")
    throw unsupported("joins its directions otherwise than one after the other");
  auto const& inner = c.config().at("layer");
  return recurrent(c, inner.at("class_name").get<std::string>(), inner.at("config"), 2);
}

/// The softmax of scores, under a mask that hides later steps if the layer is causal.
std::string probabilities(call const& c, std::string scores, bool is_causal, std::int64_t queries, std::int64_t keys) {
  if (is_causal) {
    onnx_constant mask{{queries, keys}, {}, false};
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t k = 0; k < keys; ++k) mask.values.push_back(k > i ? -1e9 : 0);
    scores = c.to.node("Add", {scores, c.add(mask, "causal_mask")});
  }
  return c.to.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
}

bool is_causal(call const& c) {
  auto const flag = [](json const& from) { return from.is_object() && call::value_in(from, "use_causal_mask", false); };
  if (c.layer.call_options.is_object())
    for (auto const& [key, value] : c.layer.call_options.items())
      if (key != "use_causal_mask" && key != "training" && !value.is_null())
        throw unsupported("is called with '" + key + "'");
  return flag(c.layer.call_options) || flag(c.config()) || c.option("causal", false);
}

onnx_output multi_head_attention(call const& c) {
  if (c.option("kept_steps", 0) != 0) throw unsupported("keeps its state");
  if (c.inputs.size() < 2 || c.inputs.size() > 3) throw unsupported("is called with masks");
  auto const heads = c.config().at("num_heads").get<std::int64_t>(), key = c.config().at("key_dim").get<std::int64_t>();
  auto const value = c.option("value_dim", key);
  bool const has_bias = c.option("use_bias", true), causal = is_causal(c);
  auto const query = c.to.channels_last(c.inputs[0]), values = c.to.channels_last(c.inputs[1]);
  auto const keys = c.inputs.size() > 2 ? c.to.channels_last(c.inputs[2]) : values;
  if (query.lengths.size() != 2) throw unsupported("is called on something else than a sequence");
  std::size_t at = 0;
  auto const projected = [&](onnx_output const& x, std::int64_t width, char const* name, integers const& order) {
    auto kernel = c.weight(at++);
    kernel.shape = {kernel.shape[0], heads * width};
    auto y = c.to.node("MatMul", {x.name, c.add(kernel, std::string(name) + "/kernel")});
    if (has_bias) {
      auto bias = c.weight(at++);
      bias.shape = {heads * width};
      y = c.to.node("Add", {y, c.add(bias, std::string(name) + "/bias")});
    }
    y = c.to.node("Reshape", {y, c.to.integers({0, 0, heads, width})});
    return c.to.node("Transpose", {y}, {{"perm", order}});
  };
  auto const q = projected(query, key, "query", {0, 2, 1, 3}), k = projected(keys, key, "key", {0, 2, 3, 1});
  auto const v = projected(values, value, "value", {0, 2, 1, 3});
  auto const scaled = c.to.node("Mul", {q, c.to.number(1 / std::sqrt(static_cast<float>(key)))});
  auto const scores = probabilities(c, c.to.node("MatMul", {scaled, k}), causal, query.lengths[0], keys.lengths[0]);
  auto y = c.to.node("Transpose", {c.to.node("MatMul", {scores, v})}, {{"perm", integers{0, 2, 1, 3}}});
  y = c.to.node("Reshape", {y, c.to.integers({0, 0, heads * value})});
  auto kernel = c.weight(at++);
  kernel.shape = {heads * value, kernel.shape.back()};
  y = c.to.node("MatMul", {y, c.add(kernel, std::string("output/kernel"))});
  if (has_bias) y = c.to.node("Add", {y, c.add_weight(at)});
  return c.result(y);
}

onnx_output attention(call const& c) {
  if (c.inputs.size() < 2 || c.inputs.size() > 3) throw unsupported("is called with masks");
  if (c.option("use_scale", false)) throw unsupported("has a scale that is learned");
  auto const query = c.to.channels_last(c.inputs[0]), values = c.to.channels_last(c.inputs[1]);
  auto const keys = c.inputs.size() > 2 ? c.to.channels_last(c.inputs[2]) : values;
  auto const turned = c.to.node("Transpose", {keys.name}, {{"perm", integers{0, 2, 1}}});
  auto const scores =
      probabilities(c, c.to.node("MatMul", {query.name, turned}), is_causal(c), query.lengths[0], keys.lengths[0]);
  return c.result(c.to.node("MatMul", {scores, values.name}));
}

/// Writes a layer that is applied to each step; layers that treat the last axis alone need nothing else.
onnx_output time_distributed(call const& c) {
  auto const& inner = c.config().at("layer");
  auto const name = inner.at("class_name").get<std::string>();
  if (name != "Dense" && name != "Activation" && name != "Dropout" && name != "LayerNormalization")
    throw unsupported("has a " + name + " inside it");
  model_layer each;
  each.name = c.layer.name, each.class_name = name, each.config = inner.at("config");
  each.weights = c.layer.weights, each.values = c.layer.values;
  // The axes of one step are the next ones of all steps.
  if (name == "LayerNormalization") {
    auto axes = c.value_in<json>(each.config, "axis", -1);
    if (!axes.is_array()) axes = json::array({axes});
    for (auto& axis : axes)
      if (auto const place = axis.get<std::int64_t>(); place > 0) axis = place + 1;
    each.config["axis"] = axes;
  }
  return onnx_exporters().at(name)({c.to, each, c.path, c.inputs, c.lengths});
}

}  // namespace

void add_sequence_exporters(std::map<std::string, onnx_exporter>& to) {
  to["Embedding"] = embedding, to["Bidirectional"] = bidirectional, to["MultiHeadAttention"] = multi_head_attention;
  to["Attention"] = attention, to["TimeDistributed"] = time_distributed;
  for (auto const* name : {"LSTM", "GRU", "SimpleRNN"})
    to[name] = [=](call const& c) { return recurrent(c, name, c.config(), 1); };
}

}  // namespace stagecraft::tool
