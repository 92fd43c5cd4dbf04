// SPDX-License-Identifier: BSD-3-Clause
// Exports layers that treat each number alone, normalize, join, move or multiply.
#include "onnx_export.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using call = exported_call;
using integers = std::vector<std::int64_t>;

onnx_output one(call const& c, std::string const& type, std::vector<onnx_option> const& options = {}) {
  return c.result(c.to.node(type, {c.inputs.at(0).name}, options), c.inputs[0].channels_first);
}

onnx_output same(call const& c) { return c.result(c.inputs.at(0).name, c.inputs[0].channels_first); }

onnx_output softmax(onnx_builder& to, onnx_output const& x, std::int64_t axis) {
  auto const last = to.channels_last(x);
  return {to.node("Softmax", {last.name}, {{"axis", axis}}), x.lengths, false};
}

onnx_output rectified(call const& c) {
  auto const& x = c.inputs.at(0);
  float const most = c.option("max_value", INFINITY), slope = c.option("negative_slope", 0.0F),
              threshold = c.option("threshold", 0.0F);
  if (slope != 0 && threshold == 0 && std::isinf(most)) return one(c, "LeakyRelu", {{"alpha", slope}});
  if (slope != 0 || threshold != 0) throw unsupported("has a slope or a threshold, which are not exported");
  if (std::isinf(most)) return one(c, "Relu");
  return c.result(c.to.node("Clip", {x.name, c.to.number(0), c.to.number(most)}), x.channels_first);
}

/// The tensors with their channels at the place of the first one's.
std::vector<std::string> aligned(call const& c, bool& channels_first) {
  channels_first = std::all_of(c.inputs.begin(), c.inputs.end(), [](auto const& x) { return x.channels_first; });
  std::vector<std::string> names;
  for (auto const& each : c.inputs) {
    if (each.lengths.size() != c.inputs[0].lengths.size()) throw unsupported("takes tensors of different ranks");
    names.push_back((channels_first ? each : c.to.channels_last(each)).name);
  }
  return names;
}

onnx_exporter merge(std::string const& type) {
  return [=](call const& c) {
    bool first = false;
    auto const names = aligned(c, first);
    if (type != "Add" && type != "Mul" && type != "Sub") return c.result(c.to.node(type, names), first);
    auto sum = names.at(0);  // the node adds two at a time
    for (std::size_t i = 1; i < names.size(); ++i) sum = c.to.node(type, {sum, names[i]});
    return c.result(sum, first);
  };
}

onnx_output concatenate(call const& c) {
  bool first = false;
  auto const names = aligned(c, first);
  auto const rank = static_cast<std::int64_t>(c.lengths.size()) + 1;
  auto axis = c.option<std::int64_t>("axis", -1);
  if (axis < 0) axis += rank;
  if (first) axis = axis == rank - 1 ? 1 : axis + 1;
  return c.result(c.to.node("Concat", names, {{"axis", axis}}), first);
}

onnx_output dense(call const& c) {
  auto const x = c.last();
  auto name = c.to.node("MatMul", {x.name, c.add_weight(0)});
  if (c.has_weight(1)) name = c.to.node("Add", {name, c.add_weight(1)});
  return with_activation(c.to, c.result(name), c.option("activation", json("linear")));
}

onnx_output batch_normalization(call const& c) {
  if (c.option<json>("axis", -1) != json(-1) && c.option<json>("axis", -1) != json::array({-1}) &&
      c.option<json>("axis", -1) != json(static_cast<int>(c.lengths.size())) &&
      c.option<json>("axis", -1) != json::array({static_cast<int>(c.lengths.size())}))
    throw unsupported("is along another axis than the last");
  std::size_t const channels = static_cast<std::size_t>(c.lengths.back());
  onnx_constant ones{{c.lengths.back()}, std::vector<double>(channels, 1), false};
  auto zeros = ones;
  zeros.values.assign(channels, 0);
  std::size_t at = 0;
  bool const scales = c.option("scale", true), centres = c.option("center", true);
  auto const gamma = scales ? c.add_weight(at++) : c.add(ones, "gamma");
  auto const beta = centres ? c.add_weight(at++) : c.add(zeros, "beta");
  auto const mean = c.add_weight(at), variance = c.add_weight(at + 1);
  auto const x = c.to.channels_first(c.inputs.at(0));
  return c.result(c.to.node("BatchNormalization", {x.name, gamma, beta, mean, variance},
                            {{"epsilon", c.option("epsilon", 1e-3F)}, {"momentum", c.option("momentum", 0.99F)}}),
                  x.channels_first);
}

/// ONNX normalizes the last axes, so other axes change places with them, and back. The axes of Keras's gamma and beta
/// are in ascending order, whatever the order in which the layer names them.
onnx_output layer_normalization(call const& c) {
  auto given = c.option<json>("axis", -1);
  if (!given.is_array()) given = json::array({given});
  auto const rank = static_cast<std::int64_t>(c.lengths.size()) + 1;
  integers axes, lengths, order, back(static_cast<std::size_t>(rank));
  for (auto const& each : given) axes.push_back(each.get<std::int64_t>() + (each.get<std::int64_t>() < 0 ? rank : 0));
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || axes.front() < 1 || axes.back() >= rank ||
      std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw unsupported("is along axes that its input does not have");
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (!std::binary_search(axes.begin(), axes.end(), axis)) order.push_back(axis);
  order.insert(order.end(), axes.begin(), axes.end());
  std::int64_t elements = 1;
  for (auto const axis : axes) {
    lengths.push_back(c.lengths[static_cast<std::size_t>(axis) - 1]);
    elements *= lengths.back();
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  bool const moves = !std::is_sorted(order.begin(), order.end());

  std::size_t at = 0;
  auto const weight = [&] {
    auto of_axes = c.weight(at);
    of_axes.shape = lengths;
    return c.add(of_axes, at++);
  };
  auto const gamma = c.option("scale", true)
                         ? weight()
                         : c.add({lengths, std::vector<double>(static_cast<std::size_t>(elements), 1), false}, "gamma");
  auto const x = c.last().name;
  std::vector<std::string> inputs{moves ? c.to.node("Transpose", {x}, {{"perm", order}}) : x, gamma};
  if (c.option("center", true)) inputs.push_back(weight());
  auto const y =
      c.to.node("LayerNormalization", inputs,
                {{"axis", -static_cast<std::int64_t>(axes.size())}, {"epsilon", c.option("epsilon", 1e-3F)}});
  return c.result(moves ? c.to.node("Transpose", {y}, {{"perm", back}}) : y);
}

/// Writes groups of channels as the channels of an instance normalization; factors and summands follow it.
onnx_output group_normalization(call const& c) {
  if (c.option("strided_channel_grouping", false)) throw unsupported("has groups of channels that are not neighbours");
  if (auto const axis = c.option("axis", -1); axis != -1 && axis != static_cast<int>(c.lengths.size()))
    throw unsupported("has channels that are not the last axis");
  auto const channels = static_cast<std::int64_t>(c.lengths.back());
  auto groups = c.option<std::int64_t>("groups", 32);
  if (groups == -1) groups = channels;
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const count = static_cast<std::size_t>(groups);
  auto const ones = c.add({{groups}, std::vector<double>(count, 1), false}, "ones");
  auto const zeros = c.add({{groups}, std::vector<double>(count, 0), false}, "zeros");
  auto const grouped = c.to.node("Reshape", {x.name, c.to.integers({0, groups, -1})});
  auto name = c.to.node("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", c.option("epsilon", 1e-3F)}});
  integers shape{-1, channels}, of_channels{channels};
  for (std::size_t i = 0; i + 1 < c.lengths.size(); ++i) shape.push_back(c.lengths[i]), of_channels.push_back(1);
  name = c.to.node("Reshape", {name, c.to.integers(shape)});
  std::size_t at = 0;
  auto const apply = [&](char const* type) {
    auto weight = c.weight(at);
    weight.shape = of_channels;
    name = c.to.node(type, {name, c.add(weight, at++)});
  };
  if (c.option("scale", true)) apply("Mul");
  if (c.option("center", true)) apply("Add");
  return c.result(name, x.channels_first);
}

/// (x - mean) / deviation, along the axes that have numbers of their own.
onnx_output normalization(call const& c) {
  auto const given = c.config().find("axis");
  json const axes = given == c.config().end() ? json::array({-1})
                    : given->is_null()        ? json::array()
                    : given->is_array()       ? *given
                                              : json::array({*given});
  integers shape(c.lengths.size(), 1);
  std::int64_t count = 1;
  for (auto const& each : axes) {
    auto const rank = static_cast<std::int64_t>(c.lengths.size());
    auto const axis = each.get<std::int64_t>() < 0 ? each.get<std::int64_t>() + rank : each.get<std::int64_t>() - 1;
    if (axis < 0 || axis >= rank) throw unsupported("has an axis that its input has not");
    count *= shape[static_cast<std::size_t>(axis)] = c.lengths[static_cast<std::size_t>(axis)];
  }
  auto const numbers = [&](char const* name, std::size_t index) {
    auto const listed = c.option<json>(name, json());
    onnx_constant result{shape, {}, false};
    if (listed.is_null())
      result.values = c.weight(index).values;
    else
      result.values = listed.is_array() ? listed.get<std::vector<double>>() : std::vector{listed.get<double>()};
    if (result.values.size() == 1) result.shape.assign(shape.size(), 1);
    if (result.values.size() != 1 && static_cast<std::int64_t>(result.values.size()) != count)
      throw unsupported(std::string("has another number of values as its ") + name);
    return result;
  };
  auto deviation = numbers("variance", 1);
  for (double& value : deviation.values) value = std::max(std::sqrt(value), 1e-7);
  auto const centred = c.to.node("Sub", {c.last().name, c.add(numbers("mean", 0), "mean")});
  return c.result(c.to.node("Div", {centred, c.add(deviation, "deviation")}));
}

onnx_output reshaped(call const& c) {
  auto const x = c.last();
  integers shape{-1};
  for (int const length : c.lengths) shape.push_back(length);
  return c.result(c.to.node("Reshape", {x.name, c.to.integers(shape)}));
}

onnx_output permute(call const& c) {
  integers order{0};
  for (auto const axis : c.config().at("dims").get<integers>()) order.push_back(axis);
  return c.result(c.to.node("Transpose", {c.last().name}, {{"perm", order}}));
}

onnx_output repeat_vector(call const& c) {
  auto const x = c.to.node("Unsqueeze", {c.last().name, c.to.integers({1})});
  return c.result(c.to.node("Expand", {x, c.to.integers({1, c.lengths[0], c.lengths[1]})}));
}

onnx_output rescaling(call const& c) {
  auto const& x = c.inputs.at(0);
  float const scale = c.option("scale", 1.0F), offset = c.option("offset", 0.0F);
  auto name = x.name;
  if (scale != 1) name = c.to.node("Mul", {name, c.to.number(scale)});
  if (offset != 0) name = c.to.node("Add", {name, c.to.number(offset)});
  return c.result(name, x.channels_first);
}

onnx_output dot(call const& c) {
  if (c.option("normalize", false) || c.inputs.size() != 2 || c.inputs[0].lengths.size() != 2 ||
      c.inputs[1].lengths.size() != 2)
    throw unsupported("is exported for two tensors of three axes");
  auto axes = c.config().at("axes");
  if (axes.is_number_integer()) axes = json::array({axes, axes});
  auto const axis = [&](std::size_t i) {
    auto const given = axes.at(i).get<int>();
    return given < 0 ? given + 3 : given;
  };
  auto const turned = [&](std::size_t i, bool turns) {
    auto const x = c.to.channels_last(c.inputs[i]);
    return turns ? c.to.node("Transpose", {x.name}, {{"perm", integers{0, 2, 1}}}) : x.name;
  };
  return c.result(c.to.node("MatMul", {turned(0, axis(0) == 1), turned(1, axis(1) == 2)}));
}

}  // namespace

onnx_output with_activation(onnx_builder& to, onnx_output const& x, json const& activation) {
  if (!activation.is_string())
    throw unsupported("has an activation with parameters, " + activation.dump().substr(0, 60));
  auto const name = activation.get<std::string>();
  auto const simple = [&](std::string const& type, std::vector<onnx_option> const& options = {}) {
    return onnx_output{to.node(type, {x.name}, options), x.lengths, x.channels_first};
  };
  if (name == "linear") return x;
  static std::map<std::string, std::string> const types{
      {"relu", "Relu"}, {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},         {"elu", "Elu"},
      {"selu", "Selu"}, {"softplus", "Softplus"}, {"softsign", "Softsign"}, {"exponential", "Exp"}};
  if (auto const found = types.find(name); found != types.end()) return simple(found->second);
  if (name == "hard_sigmoid") return simple("HardSigmoid", {{"alpha", 0.2F}, {"beta", 0.5F}});
  if (name == "softmax") return softmax(to, x, -1);
  if (name == "swish" || name == "silu") {
    auto const sigmoid = simple("Sigmoid");
    return {to.node("Mul", {x.name, sigmoid.name}), x.lengths, x.channels_first};
  }
  if (name == "gelu") {
    auto const scaled = to.node("Mul", {x.name, to.number(0.70710678118654752F)});
    auto const sum = to.node("Add", {to.node("Erf", {scaled}), to.number(1)});
    return {to.node("Mul", {to.node("Mul", {x.name, sum}), to.number(0.5F)}), x.lengths, x.channels_first};
  }
  throw unsupported("has the activation " + name);
}

void add_simple_exporters(std::map<std::string, onnx_exporter>& to) {
  for (auto const* name : {"Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianNoise",
                           "GaussianDropout", "AlphaDropout", "ActivityRegularization"})
    to[name] = same;
  to["Activation"] = [](call const& c) {
    return with_activation(c.to, c.inputs.at(0), c.option("activation", json("linear")));
  };
  to["ReLU"] = rectified, to["Dense"] = dense;
  to["LeakyReLU"] = [](call const& c) {
    return one(c, "LeakyRelu", {{"alpha", c.option("alpha", c.option("negative_slope", 0.3F))}});
  };
  to["ELU"] = [](call const& c) { return one(c, "Elu", {{"alpha", c.option("alpha", 1.0F)}}); };
  to["ThresholdedReLU"] = [](call const& c) { return one(c, "ThresholdedRelu", {{"alpha", c.option("theta", 1.0F)}}); };
  to["PReLU"] = [](call const& c) { return c.result(c.to.node("PRelu", {c.last().name, c.add_weight(0)})); };
  to["Softmax"] = [](call const& c) {
    auto const axis = c.option<json>("axis", -1);
    if (!axis.is_number_integer()) throw unsupported("is along several axes");
    return softmax(c.to, c.inputs.at(0), axis.get<std::int64_t>());
  };
  to["Add"] = merge("Add"), to["Subtract"] = merge("Sub"), to["Multiply"] = merge("Mul"), to["Average"] = merge("Mean");
  to["Maximum"] = merge("Max"), to["Minimum"] = merge("Min"), to["Concatenate"] = concatenate, to["Dot"] = dot;
  to["BatchNormalization"] = batch_normalization, to["LayerNormalization"] = layer_normalization;
  to["GroupNormalization"] = group_normalization, to["Normalization"] = normalization;
  to["Flatten"] = to["Reshape"] = reshaped, to["Permute"] = permute, to["RepeatVector"] = repeat_vector,
  to["Rescaling"] = rescaling;
}

}  // namespace stagecraft::tool
