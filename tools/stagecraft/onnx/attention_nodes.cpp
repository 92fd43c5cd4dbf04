// SPDX-License-Identifier: BSD-3-Clause
// Attention of several heads, which files write as products of tensors of four axes. Its steps are held until the
// dense layer that ends it makes one layer of all: MultiHeadAttention.
#include "attention_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

constexpr char const *scores = "attention scores", *probabilities = "attention probabilities",
                     *context = "attention context", *joined = "attention joined";
std::vector<int> const in_place{0, 1, 2, 3}, heads_first{0, 2, 1, 3}, turned{0, 3, 1, 2};

/// A layer below factors that are one number, and their product.
struct unscaled {
  int layer = -1;
  double factor = 1;
};

unscaled below_factors(trace const& to, int layer) {
  unscaled result{layer, 1};
  for (auto const* each = &to.layer_at(layer); each->is_affine; each = &to.layer_at(result.layer)) {
    auto const& factors = each->factors;
    bool const is_one_number =
        std::all_of(factors.begin(), factors.end(), [&](float f) { return f == factors[0]; }) &&
        std::all_of(each->summands.begin(), each->summands.end(), [](float s) { return s == 0; });
    if (!is_one_number) break;
    result.factor *= static_cast<double>(factors[0]);
    result.layer = each->inputs[0];
  }
  return result;
}

/// A dense layer whose units are those of several heads: (steps, count * width) as (steps, count, width).
struct head_projection {
  int dense = -1, steps = 0, count = 0, width = 0;
  double factor = 1;
};

std::optional<head_projection> heads_of(trace const& to, traced_tensor const& x) {
  auto const above = below_factors(to, x.layer);
  auto const& shaped = to.layer_at(above.layer);
  if (shaped.class_name != "Reshape" || shaped.lengths.size() != 3) return std::nullopt;
  auto const below = below_factors(to, shaped.inputs[0]);
  auto const& dense = to.layer_at(below.layer);
  int const steps = shaped.lengths[0], count = shaped.lengths[1], width = shaped.lengths[2];
  if (dense.class_name != "Dense" || dense.lengths != std::vector{steps, count * width} ||
      to.layer_at(dense.inputs[0]).lengths.size() != 2)
    return std::nullopt;
  return head_projection{below.layer, steps, count, width, above.factor * below.factor};
}

traced_tensor held(trace& to, char const* step, json const& config, std::vector<int> const& inputs,
                   std::vector<int> const& lengths, std::vector<int> const& order) {
  auto y = to.hold({step, "", config, inputs, {}, lengths});
  y.rank = static_cast<int>(order.size()), y.order = order;
  return y;
}

/// True if each step attends to the steps up to itself: `takes(place)` is asked for each element of (..., steps,
/// steps).
template <class Takes>
bool is_causal(onnx_constant const& mask, std::vector<int> const& lengths, Takes const& takes) {
  auto const steps = static_cast<std::size_t>(lengths[1]);
  auto const axes = mask.shape.size();
  if (lengths[1] != lengths[2] || mask.values.size() != steps * steps || axes < 2 ||
      mask.shape[axes - 1] != lengths[2] || mask.shape[axes - 2] != lengths[1])
    return false;
  for (std::size_t i = 0; i < mask.values.size(); ++i)
    if (takes(i) != (i % steps <= i / steps)) return false;
  return true;
}

/// Scores under a mask.
traced_tensor masked(trace& to, traced_tensor const& x) {
  auto const below = below_factors(to, x.layer);
  auto layer = to.layer_at(below.layer);
  layer.config["factor"] = layer.config["factor"].get<double>() * below.factor;
  layer.config["causal"] = true;
  auto y = held(to, scores, layer.config, layer.inputs, layer.lengths, in_place);
  y.joined_axis = x.joined_axis;
  return y;
}

bool is_scores(trace const& to, traced_tensor const& x) {
  return x.order == in_place && to.layer_at(below_factors(to, x.layer).layer).class_name == scores;
}

constexpr double least_mask = -1e4;  // a summand that makes a probability 0

/// A dense layer's weights as (features, count, width) and (count, width), by which its numbers are multiplied.
void add_projection(trace const& to, int dense, std::int64_t count, std::int64_t width, bool has_bias, double factor,
                    std::vector<onnx_constant>& weights) {
  auto const& given = to.layer_at(dense).weights;
  auto const add = [&](std::vector<std::int64_t> const& shape, std::vector<float> const& values) {
    weights.push_back({shape, {values.begin(), values.end()}, false});
    for (double& value : weights.back().values) value *= factor;
  };
  add({given[0].shape[0], count, width}, given[0].values);
  std::vector<float> const none(static_cast<std::size_t>(count * width), 0.0F);
  if (has_bias) add({count, width}, given.size() > 1 ? given[1].values : none);
}

}  // namespace

bool is_of_samples(onnx_trace const& of, std::int64_t length, std::int64_t times) {
  auto const& inputs = of.graph().inputs;
  auto const samples = inputs.empty() || inputs[0].shape.empty() ? -1 : inputs[0].shape[0];
  return length == -1 || (samples > 0 && length % times == 0 && length / times == samples) ||
         length == static_cast<std::int64_t>(batch_marker) * times;
}

bool take_attention_product(trace& to, onnx_node const& node) {
  auto const a = to.joined_tensor(node, 0), b = to.joined_tensor(node, 1);
  if (to.is_one_sample() || a.rank != 4 || b.rank != 4 || a.joined_axis != b.joined_axis || a.joined_axis > 0)
    return false;
  auto const set = [&](traced_tensor y) {
    y.joined_axis = a.joined_axis;
    to.set(node, y);
    return true;
  };
  if (a.order == heads_first && b.order == turned) {
    auto const query = heads_of(to, a), key = heads_of(to, b);
    if (!query || !key || query->count != key->count || query->width != key->width) return false;
    json const config{{"factor", query->factor * key->factor}, {"key_dim", key->width}, {"causal", false}};
    return set(held(to, scores, config, {query->dense, key->dense}, {key->count, query->steps, key->steps}, in_place));
  }
  auto given = to.layer_at(a.layer);
  double rate = 0;
  if (given.class_name == "Dropout") rate = given.config["rate"].get<double>(), given = to.layer_at(given.inputs[0]);
  auto const value = heads_of(to, b);
  if (given.class_name != probabilities || a.order != in_place || b.order != heads_first || !value ||
      value->factor != 1 || value->count != given.lengths[0] || value->steps != given.lengths[2])
    return false;
  given.config["value_dim"] = value->width;
  if (rate > 0) given.config["dropout"] = rate;
  given.inputs.push_back(value->dense);
  return set(
      held(to, context, given.config, given.inputs, {given.lengths[1], value->count, value->width}, heads_first));
}

bool take_attention_mask(trace& to, onnx_node const& node, traced_tensor const& x, onnx_constant const& mask) {
  if (node.type != "Add" || mask.values.size() < 2 || !is_scores(to, x)) return false;
  auto const& lengths = to.layer_at(below_factors(to, x.layer).layer).lengths;
  bool const is_known =
      is_causal(mask, lengths, [&](std::size_t i) { return mask.values[i] > least_mask; }) &&
      std::all_of(mask.values.begin(), mask.values.end(), [](double v) { return v == 0 || v <= least_mask; });
  if (!is_known) throw unsupported("has a mask of attention that is not causal");
  to.set(node, masked(to, x));
  return true;
}

void choose_attention(trace& to, onnx_node const& node) {
  auto const which = to.required(node, 0);
  std::size_t const tensor = to.is_tensor(node, 1) ? 1 : 2;
  auto const& x = to.joined_tensor(node, tensor);
  auto const other = to.required(node, 3 - tensor);
  bool const is_low = other.values.size() == 1 && other.values[0] <= least_mask;
  if (!is_low || !is_scores(to, x) ||
      !is_causal(which, to.layer_at(below_factors(to, x.layer).layer).lengths,
                 [&](std::size_t i) { return (which.values[i] != 0) == (tensor == 1); }))
    throw unsupported("chooses something else than the mask of causal attention");
  to.set(node, masked(to, x));
}

bool take_attention_softmax(trace& to, onnx_node const& node, traced_tensor const& x) {
  auto const axis = node.integer("axis", -1);
  if (to.is_one_sample() || x.rank != 4 || (axis != -1 && axis != (x.joined_axis < 0 ? 3 : 2)) || !is_scores(to, x))
    return false;
  auto const below = below_factors(to, x.layer);
  auto layer = to.layer_at(below.layer);
  layer.config["factor"] = layer.config["factor"].get<double>() * below.factor;
  auto y = held(to, probabilities, layer.config, layer.inputs, layer.lengths, in_place);
  y.joined_axis = x.joined_axis;
  to.set(node, y);
  return true;
}

bool take_attention_heads(trace& to, onnx_node const& node, traced_tensor const& x,
                          std::vector<std::int64_t> const& wanted) {
  auto const is_samples = [&](std::int64_t length, std::int64_t times) { return is_of_samples(to, length, times); };
  std::vector<int> const steps_first{1, 0, 2};
  auto const count = wanted.size();
  auto const set = [&](traced_tensor y, int joined_axis) {
    y.joined_axis = joined_axis;
    to.set(node, y);
    return true;
  };
  auto const given = to.layer_at(x.layer);
  if (given.class_name == context) {
    std::int64_t const steps = x.lengths[0], width = std::int64_t{x.lengths[1]} * x.lengths[2];
    std::vector<int> const lengths{x.lengths[0], x.lengths[1] * x.lengths[2]};
    auto const all = [&](std::vector<int> const& order) {
      return held(to, joined, given.config, given.inputs, lengths, order);
    };
    if (x.order == in_place && count == 3 && wanted[1] == steps && wanted[2] == width) return set(all({0, 1, 2}), -1);
    if (x.order != std::vector{1, 0, 2, 3} || (x.joined_axis != 1 && x.joined_axis != -1)) return false;
    if (count == 2 && (wanted[0] == 0 || is_samples(wanted[0], steps)) && wanted[1] == width)
      return set(all(steps_first), 0);
    if (count == 3 && wanted[0] == steps && is_samples(wanted[1], 1) && wanted[2] == width)
      return set(all(steps_first), -1);
    return false;
  }
  if (x.order == heads_first || x.order == turned) {  // samples and heads are two axes, or one
    std::int64_t const steps = x.lengths[0], heads = x.lengths[1], width = x.lengths[2];
    auto const rows = x.order == turned ? width : steps, columns = x.order == turned ? steps : width;
    auto const begins = [&](std::int64_t times) { return wanted[0] == 0 || is_samples(wanted[0], times); };
    if (x.joined_axis == 0 && count == 4)
      return begins(1) && wanted[1] == heads && wanted[2] == rows && wanted[3] == columns && set(x, -1);
    if (x.joined_axis == -1 && count == 3 && heads_of(to, x))
      return begins(heads) && wanted[1] == rows && wanted[2] == columns && set(x, 0);
  }
  if (x.order != steps_first || x.lengths.size() != 2 || count != 3 || wanted[0] != x.lengths[0] || wanted[2] < 1)
    return false;
  if (x.joined_axis == 0 && is_samples(wanted[1], 1) && wanted[2] == x.lengths[1]) return set(x, -1);
  auto const heads = x.lengths[1] / wanted[2];
  if (x.joined_axis >= 0 || x.rank != 3 || heads < 2 || heads * wanted[2] != x.lengths[1] ||
      !is_samples(wanted[1], heads))
    return false;
  auto y = to.call("Reshape", {{"target_shape", {x.lengths[0], heads, wanted[2]}}}, {x});
  y.rank = 4, y.order = {1, 0, 2, 3};
  return set(y, 1);
}

bool take_attention_output(trace& to, traced_tensor const& x, onnx_constant const& kernel,
                           std::optional<onnx_constant> const& bias, std::string const& name, onnx_node const& giver) {
  auto const given = to.layer_at(x.layer);
  if (given.class_name != joined || kernel.shape[0] != given.lengths[1] || x.order.back() != x.rank - 1) return false;
  auto const key_dim = given.config["key_dim"].get<std::int64_t>(),
             value_dim = given.config["value_dim"].get<std::int64_t>();
  auto const heads = kernel.shape[0] / value_dim;
  bool has_bias = bias.has_value();
  std::vector<traced_tensor> sources;
  for (int const dense : given.inputs) {
    has_bias = has_bias || to.layer_at(dense).weights.size() > 1;
    int const source = to.layer_at(dense).inputs[0];
    sources.push_back({source, 3, {0, 1, 2}, to.layer_at(source).lengths});
  }
  json config{{"num_heads", heads}, {"key_dim", key_dim}};
  if (value_dim != key_dim) config["value_dim"] = value_dim;
  if (!has_bias) config["use_bias"] = false;
  if (given.config["causal"].get<bool>()) config["use_causal_mask"] = true;
  if (given.config.contains("dropout")) config["dropout"] = given.config["dropout"];
  if (kernel.shape[1] != sources[0].lengths[1]) config["output_shape"] = kernel.shape[1];
  // The layer divides by the root of key_dim; the query takes the rest of the file's factor.
  auto factor = given.config["factor"].get<double>() * std::sqrt(static_cast<double>(key_dim));
  if (std::fabs(factor - 1) < 1e-5) factor = 1;
  std::vector<onnx_constant> weights;
  for (std::size_t i = 0; i < 3; ++i)
    add_projection(to, given.inputs[i], heads, i == 2 ? value_dim : key_dim, has_bias, i == 0 ? factor : 1, weights);
  weights.push_back({{heads, value_dim, kernel.shape[1]}, kernel.values, false});
  if (has_bias)
    weights.push_back(bias.value_or(
        onnx_constant{{kernel.shape[1]}, std::vector<double>(static_cast<std::size_t>(kernel.shape[1]), 0.0), false}));
  std::vector<traced_tensor> inputs{sources[0], sources[2]};
  if (sources[1].layer != sources[2].layer) inputs.push_back(sources[1]);
  // The common beginning of the names of the dense layers, up to the end of a part.
  auto const& first = to.layer_at(given.inputs[0]).name;
  auto const common = std::mismatch(name.begin(), name.end(), first.begin(), first.end()).first - name.begin();
  auto own = name.substr(0, static_cast<std::size_t>(common));
  auto const end = own.rfind('_');
  if (own != first && own != name) own.resize(end == std::string::npos ? 0 : end);
  auto y = to.call("MultiHeadAttention", config, inputs, weights, own);
  y.rank = x.rank, y.order = x.order, y.joined_axis = x.joined_axis;
  to.set(giver, y);
  return true;
}

bool is_held(traced_layer const& layer) { return layer.class_name.starts_with("attention "); }

}  // namespace stagecraft::tool
