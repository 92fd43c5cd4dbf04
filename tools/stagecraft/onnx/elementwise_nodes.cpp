// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes that treat each number alone, normalize along channels, or join tensors.
#include "attention_nodes.hpp"
#include "keras/option_values.hpp"

#include <stagecraft/diagnostics/number_text.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

constexpr char const* exported_in_training =
    "is in its training mode, in which it has other numbers: export the model with model.eval()";

/// The shortest number that is this float: 0.9, not 0.8999999761581421.
double shortest(float number) { return diagnostics::decimal_of(number); }

/// Sets a layer that changes neither axes nor lengths as a node's output.
void set_alike(trace& to, onnx_node const& node, std::string const& class_name, json const& config,
               bool is_nonnegative = false) {
  auto const x = to.tensor(node, 0);
  auto y = to.call(class_name, config, {x});
  auto const layer = y.layer;
  y = x;
  y.layer = layer, y.is_nonnegative = is_nonnegative;
  to.set(node, y);
}

onnx_converter activation(std::string const& name, bool is_nonnegative = false) {
  return [=](trace& to, onnx_node const& node) {
    set_alike(to, node, "Activation", {{"activation", name}}, is_nonnegative);
  };
}

void clip(trace& to, onnx_node const& node) {
  auto const least = to.constant(node, 1), most = to.constant(node, 2);
  bool const is_rectified = least && least->values.size() == 1 && least->values[0] == 0;
  bool const is_open = !most || (most->values.size() == 1 && most->values[0] > 3e38);
  if (!is_rectified || (most && most->values.size() != 1)) throw unsupported("has other limits than 0 and a number");
  if (is_open) return set_alike(to, node, "Activation", {{"activation", "relu"}}, true);
  auto x = to.tensor(node, 0);
  auto const& before = to.layer(x);  // PyTorch writes relu6 as Relu and Clip
  if (before.class_name == "Activation" && before.config["activation"] == "relu" &&
      to.only_user(node.inputs[0]) == &node)
    x.layer = before.inputs[0];
  x.layer = to.call("ReLU", {{"max_value", most->values[0]}}, {x}).layer;
  x.is_nonnegative = true;
  to.set(node, x);
}

/// The place of one of the graph's axes among a tensor's own; -1 for an axis of length 1 that the tensor does not have.
int place_of(traced_tensor const& x, std::int64_t axis) {
  if (axis < 0) axis += x.rank;
  auto const found = std::find(x.order.begin(), x.order.end(), static_cast<int>(axis));
  return found == x.order.end() ? -1 : static_cast<int>(found - x.order.begin());
}

void softmax(trace& to, onnx_node const& node) {
  if (take_attention_softmax(to, node, to.joined_tensor(node, 0))) return;
  auto x = to.tensor(node, 0);
  if (!x.flat_order.empty() || x.fused_axis >= 0) x = to.in_order(x);
  bool const is_flat = to.graph().opset < 13;  // then from this axis on, which is the last one here
  int const place = place_of(x, node.integer("axis", is_flat ? x.rank - 1 : -1));
  if (place < 1) throw unsupported("is along an axis that is not here");
  int const last = static_cast<int>(x.lengths.size());
  auto y = place == last ? to.call("Activation", {{"activation", "softmax"}}, {x})
                         : to.call("Softmax", {{"axis", place}}, {x});
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = true;
  to.set(node, y);
}

/// The numbers of a constant with a single number, or with one for each place of a tensor's last axis.
std::vector<float> per_channel(onnx_constant const& c, traced_tensor const& x) {
  std::vector<float> const all(c.values.begin(), c.values.end());
  auto const rank = static_cast<int>(c.shape.size());
  if (all.size() == 1 && rank <= x.rank) return all;
  if (!x.flat_order.empty() || x.fused_axis >= 0 || x.order.size() < 2)
    throw unsupported("has a constant for each element");
  int const channels = x.order.back();
  if (rank > x.rank) throw unsupported("has a constant of more axes than its input");
  for (int i = 0; i < rank; ++i)
    if (c.shape[static_cast<std::size_t>(i)] != 1 && i + x.rank - rank != channels)
      throw unsupported("has a constant of the shape " + io::shape_text(c.shape) +
                        ", expected one number, or one for each channel");
  if (all.size() != static_cast<std::size_t>(x.lengths.back()))
    throw unsupported("has a constant that does not fit its input");
  return all;
}

void prelu(trace& to, onnx_node const& node) {
  auto x = to.tensor(node, 0);
  auto slopes = to.required(node, 1);
  if (slopes.values.size() == 1 ||
      std::all_of(slopes.values.begin(), slopes.values.end(), [&](double s) { return s == slopes.values[0]; })) {
    if (slopes.values.empty()) throw unsupported("has no slopes");
    return set_alike(to, node, "LeakyReLU", {{"alpha", static_cast<float>(slopes.values[0])}});
  }
  if (slopes.shape.size() == static_cast<std::size_t>(x.rank) && slopes.shape[0] == 1)  // the axis of the samples
    slopes.shape.erase(slopes.shape.begin());
  // One slope for each channel, as in PyTorch, which all places share.
  bool const has_channels_last =
      x.order.size() > 2 && x.order[0] == 0 && x.order.back() == 1 && slopes.shape.size() > 1;
  if (has_channels_last && slopes.shape[0] == static_cast<std::int64_t>(slopes.values.size())) {
    auto const c = per_channel(slopes, x);
    std::vector<int> places(x.lengths.size() - 1);
    std::iota(places.begin(), places.end(), 1);
    slopes.shape.assign(x.lengths.size(), 1);
    slopes.shape.back() = static_cast<std::int64_t>(c.size());
    auto y = to.call("PReLU", {{"shared_axes", places}}, {x}, {slopes});
    y.rank = x.rank, y.order = x.order;
    return to.set(node, y);
  }
  x = to.in_order(x);
  if (slopes.shape.size() + 1 > static_cast<std::size_t>(x.rank))
    throw unsupported("has slopes with the axis of samples");
  std::vector<std::int64_t> const lengths(x.lengths.begin(), x.lengths.end());
  if (slopes.shape != lengths) throw unsupported("has slopes that several elements share");
  to.set(node, to.call("PReLU", json::object(), {x}, {slopes}));
}

/// Tensors with their axes in the order of the first one's.
std::vector<traced_tensor> aligned(trace& to, onnx_node const& node, int& rank) {
  std::vector<traced_tensor> all;
  if (node.inputs.empty()) throw unsupported("lacks inputs");
  rank = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    all.push_back(to.tensor(node, i));
    rank = std::max(rank, all.back().rank);
  }
  bool is_alike = true;
  for (auto const& each : all)
    is_alike = is_alike && each.order == all[0].order && each.rank == rank && each.flat_order == all[0].flat_order &&
               each.flat_lengths == all[0].flat_lengths && each.fused_axis == all[0].fused_axis;
  if (is_alike) return all;
  auto order = all[0].order;
  for (auto& each : all) {
    if (each.rank != rank) throw unsupported("takes tensors of different ranks");
    if (each.order.size() > order.size()) order = each.order;  // the order with all axes
  }
  for (auto& each : all) each = to.ordered(each, order);
  return all;
}

/// Converts Add, Mul and the like, of tensors or of a tensor and a constant.
onnx_converter arithmetic(std::string const& class_name) {
  return [=](trace& to, onnx_node const& node) {
    auto const& type = node.type;
    if (node.inputs.size() == 2 && to.is_tensor(node, 0) != to.is_tensor(node, 1)) {
      std::size_t const tensor = to.is_tensor(node, 0) ? 0 : 1;
      auto const constant = to.required(node, 1 - tensor);
      if (take_attention_mask(to, node, to.joined_tensor(node, tensor), constant)) return;
      auto const& x = constant.values.size() == 1 ? to.joined_tensor(node, tensor) : to.tensor(node, tensor);
      auto const c = per_channel(constant, x);
      if (c.empty()) throw unsupported("has an empty constant");
      auto changed = [&](auto const& change) {
        std::vector<float> result;
        for (float const each : c) result.push_back(change(each));
        return result;
      };
      auto const same = changed([](float v) { return v; }), negative = changed([](float v) { return -v; });
      if (type == "Add") return to.set(node, to.scaled(x, {1.0F}, same));
      if (type == "Mul") return to.set(node, to.scaled(x, same, {0.0F}));
      if (type == "Sub")
        return to.set(node, tensor == 0 ? to.scaled(x, {1.0F}, negative) : to.scaled(x, {-1.0F}, same));
      if (type == "Div" && tensor == 0)
        return to.set(node, to.scaled(x, changed([](float v) { return 1 / v; }), {0.0F}));
      throw unsupported("has a constant, which is not here");
    }
    if (class_name.empty()) throw unsupported("is of two tensors, which is not here");
    int rank = 0;
    auto const all = aligned(to, node, rank);
    if (all.size() < 2) {
      to.set(node, all.at(0));
      return;
    }
    auto y = to.call(class_name, json::object(), all);
    y.rank = rank, y.order = all[0].order, y.flat_order = all[0].flat_order, y.flat_lengths = all[0].flat_lengths;
    y.fused_axis = all[0].fused_axis;
    y.is_nonnegative =
        type != "Sub" && std::all_of(all.begin(), all.end(), [](auto const& each) { return each.is_nonnegative; });
    to.set(node, y);
  };
}

void concat(trace& to, onnx_node const& node) {
  int rank = 0;
  auto all = aligned(to, node, rank);
  for (auto& each : all)
    if (!each.flat_order.empty() || each.fused_axis >= 0) each = to.in_order(each);
  auto place = place_of(all.at(0), node.integer("axis", 0));
  if (place < 0)
    for (auto& each : all) each = to.in_order(each), place = place_of(each, node.integer("axis", 0));
  if (place < 1) throw unsupported("joins samples");
  if (all.size() == 1) return to.set(node, all[0]);
  std::int64_t joined = 0;
  for (auto const& each : all) joined += each.lengths.at(static_cast<std::size_t>(place) - 1);
  if (joined > (1 << 30)) throw unsupported("gives more than 2^30 elements");
  int const last = static_cast<int>(all[0].lengths.size());
  auto y = to.call("Concatenate", {{"axis", place == last ? -1 : place}}, all);
  y.rank = rank, y.order = all[0].order;
  y.is_nonnegative = std::all_of(all.begin(), all.end(), [](auto const& each) { return each.is_nonnegative; });
  to.set(node, y);
}

void batch_normalization(trace& to, onnx_node const& node) {
  if (node.integer("training_mode", 0) != 0) throw unsupported(exported_in_training);
  auto x = to.tensor(node, 0);
  x = x.rank > 2 ? to.channels_last(x) : to.in_order(x);
  json const config{{"epsilon", shortest(node.real("epsilon", 1e-5F))},
                    {"momentum", shortest(node.real("momentum", 0.9F))}};
  auto y = to.call("BatchNormalization", config, {x},
                   {to.required(node, 1), to.required(node, 2), to.required(node, 3), to.required(node, 4)},
                   to.name_of(node, node.inputs[1]));
  y.rank = x.rank, y.order = x.order;
  to.set(node, y);
}

void layer_normalization(trace& to, onnx_node const& node) {
  bool const is_one = to.is_one_sample();
  auto const x = is_one ? to.complete_in_order(to.tensor(node, 0)) : to.in_order(to.tensor(node, 0));
  int const rank = x.rank + (is_one ? 1 : 0);  // that of the tensor here, with an axis of samples
  auto axis = node.integer("axis", -1);
  axis += axis < 0 ? rank : rank - x.rank;
  if (axis < 1 || axis >= rank) throw unsupported("is along an axis that is none of a sample");
  auto const scale = to.constant(node, 1), shift = to.constant(node, 2);
  json config{{"epsilon", shortest(node.real("epsilon", 1e-5F))}};
  std::vector<onnx_constant> weights;
  std::vector<std::int64_t> of_axes(1, x.lengths.back());
  if (axis != rank - 1) {
    if (rank != static_cast<int>(x.lengths.size()) + 1) throw unsupported("is along axes of length 1");
    of_axes.assign(x.lengths.begin() + axis - 1, x.lengths.end());
    config["axis"] = json::array();
    for (; axis < rank; ++axis) config["axis"].push_back(axis - rank);
  }
  if (!scale) config["scale"] = false;
  if (!shift) config["center"] = false;
  for (auto const& each : {scale, shift}) {
    if (!each) continue;
    // The last axes alone count: before them, there are only axes of length 1.
    auto const others = each->shape.size() - std::min(each->shape.size(), of_axes.size());
    for (std::size_t i = 0; i < each->shape.size(); ++i)
      if (each->shape[i] != (i < others ? 1 : of_axes[of_axes.size() - each->shape.size() + i]))
        throw unsupported("has a scale or a bias of other axes");
    weights.push_back(*each);
    if (of_axes.size() == 1) of_axes[0] = static_cast<std::int64_t>(each->values.size());
    weights.back().shape = of_axes;
    if (auto const has = std::accumulate(of_axes.begin(), of_axes.end(), 1.0, std::multiplies<>());
        has != static_cast<double>(each->values.size()))
      throw unsupported("has a scale or a bias of other axes");
  }
  to.set(node, to.call("LayerNormalization", config, {x}, weights,
                       to.name_of(node, node.inputs.size() > 1 ? node.inputs[1] : "")));
}

void dropout(trace& to, onnx_node const& node) {
  auto const mode = to.constant(node, 2), ratio = to.constant(node, 1);
  double const rate = ratio && !ratio->values.empty() ? ratio->values[0] : 0.5;
  if (mode && !mode->values.empty() && mode->values[0] != 0 && rate != 0) throw unsupported(exported_in_training);
  if (node.outputs.size() > 1 && to.is_taken(node.outputs[1])) {  // what is kept: all
    auto kept = to.complete(to.tensor(node, 0));
    kept.layer = to.operate({"kept", [](auto const& x) { return "ops.full("_cpp + x[0] + ".shape(), 1.0F)"; }}, {kept},
                            kept.lengths)
                     .layer;
    kept.elements = element_kind::truth;
    to.set(node, kept, 1);
  }
  if (rate == 0) return to.set(node, to.tensor(node, 0));
  set_alike(to, node, "Dropout", {{"rate", shortest(static_cast<float>(rate))}}, to.tensor(node, 0).is_nonnegative);
}

/// Converts Cast. All numbers are floats here, so the type must have all numbers that the tensor may have. Floats of 16
/// bits are those of a layer that computes in them, and rounds its results.
void cast(trace& to, onnx_node const& node) {
  constexpr std::int64_t int32 = 6, int64 = 7;
  auto x = to.tensor(node, 0);
  auto const type = node.integer("to", 1);
  auto const kind = element_kind_of(type);
  if (!kind) throw unsupported("makes elements of type " + std::to_string(type) + ", which is not here");
  bool const is_truth = x.elements == element_kind::truth;
  int const from = to.type_of(node.inputs[0]), wanted = static_cast<int>(type);
  bool const is_half = half_name(wanted) != nullptr;
  // What a program gives to an input of 16 bits has not been rounded yet.
  bool const is_given = half_name(from) != nullptr && to.layer_at(x.layer).class_name == "InputLayer";
  if (!is_truth && *kind == element_kind::real && ((is_half && wanted != from) || is_given)) {
    auto const before = x;
    x.layer = to.call("Activation", {{"activation", "linear"}}, {before}).layer;
    to.layer(x).half = is_given ? from : wanted;
    if (is_given && is_half && wanted != from) throw unsupported("takes numbers of another type of 16 bits");
  }
  if (x.elements == element_kind::real && *kind == element_kind::whole)
    throw unsupported("makes whole numbers of a tensor");
  if (!is_truth && *kind == element_kind::truth) throw unsupported("makes truth values of numbers");
  if (x.elements == element_kind::whole && *kind == element_kind::whole && type != int32 && type != int64)
    throw unsupported("makes whole numbers of fewer bits");
  x.elements = *kind;
  to.set(node, x);
}

}  // namespace

void add_elementwise_converters(std::map<std::string, onnx_converter>& to) {
  to["Relu"] = activation("relu", true), to["Tanh"] = activation("tanh"), to["Sigmoid"] = activation("sigmoid", true);
  to["Selu"] = [](trace& t, onnx_node const& node) {
    constexpr float alpha = 1.67326319217681884765625F, gamma = 1.05070102214813232421875F;
    if (node.real("alpha", alpha) != alpha || node.real("gamma", gamma) != gamma)
      throw unsupported("has another alpha or gamma than Keras's selu");
    set_alike(t, node, "Activation", {{"activation", "selu"}});
  };
  to["Softplus"] = activation("softplus", true), to["Softsign"] = activation("softsign");
  to["Exp"] = activation("exponential", true);
  to["Swish"] = [](trace& t, onnx_node const& node) {
    if (node.real("alpha", 1) != 1) throw unsupported("has another alpha than 1");
    set_alike(t, node, "Activation", {{"activation", "swish"}});
  };
  to["Gelu"] = [](trace& t, onnx_node const& node) {  // a node since opset 20
    json name = "gelu";
    auto const approximate = node.text("approximate", "none");
    if (approximate != "none" && approximate != "tanh") throw unsupported("approximates by something else than tanh");
    if (approximate == "tanh") name = {{"class_name", "gelu"}, {"config", {{"approximate", true}}}};
    set_alike(t, node, "Activation", {{"activation", name}});
  };
  to["LeakyRelu"] = [](trace& t, onnx_node const& node) {
    set_alike(t, node, "LeakyReLU", {{"alpha", shortest(node.real("alpha", 0.01F))}});
  };
  to["Elu"] = [](trace& t, onnx_node const& node) {
    float const alpha = node.real("alpha", 1);
    if (alpha == 1) return set_alike(t, node, "Activation", {{"activation", "elu"}});
    set_alike(t, node, "ELU", {{"alpha", shortest(alpha)}});
  };
  to["ThresholdedRelu"] = [](trace& t, onnx_node const& node) {
    set_alike(t, node, "ThresholdedReLU", {{"theta", shortest(node.real("alpha", 1))}});
  };
  to["HardSigmoid"] = [](trace& t, onnx_node const& node) {
    if (std::fabs(node.real("alpha", 0.2F) - 0.2F) > 1e-6F || node.real("beta", 0.5F) != 0.5F)
      throw unsupported("has another slope than Keras's hard_sigmoid, 0.2");
    set_alike(t, node, "Activation", {{"activation", "hard_sigmoid"}}, true);
  };
  to["Neg"] = [](trace& t, onnx_node const& node) { t.set(node, t.scaled(t.tensor(node, 0), {-1.0F}, {0.0F})); };
  to["Clip"] = clip, to["Softmax"] = softmax, to["PRelu"] = prelu, to["Concat"] = concat, to["Dropout"] = dropout;
  to["Where"] = choose_attention, to["Cast"] = cast, to["BatchNormalization"] = batch_normalization,
  to["LayerNormalization"] = layer_normalization;
  to["Add"] = to["Sum"] = arithmetic("Add"), to["Mul"] = arithmetic("Multiply"), to["Sub"] = arithmetic("Subtract");
  to["Div"] = arithmetic(""), to["Max"] = arithmetic("Maximum"), to["Min"] = arithmetic("Minimum"),
  to["Mean"] = arithmetic("Average");
  to["Identity"] = [](trace& t, onnx_node const& node) { t.set(node, t.tensor(node, 0)); };
}

}  // namespace stagecraft::tool
