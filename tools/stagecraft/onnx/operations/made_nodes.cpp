// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that stand for several others: they are converted as those.
#include "made_nodes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// Reverses other numbers of steps in each sequence, where the axis of sequences has a known length: reads the elements
/// at places that are constants.
void reverse_each(trace& to, onnx_node const& node, std::vector<std::int64_t> const& counts) {
  if (!to.is_one_sample()) throw unsupported("turns other numbers of steps from sample to sample");
  int const rank = to.tensor(node, 0).rank;
  auto const time = static_cast<std::size_t>(axis_of(node.integer("time_axis", 0), rank)),
             batch = static_cast<std::size_t>(axis_of(node.integer("batch_axis", 1), rank));
  std::int64_t size = 1;
  onnx_constant places{{}, {}, true};
  for (int axis = 0; axis < rank; ++axis) {
    places.shape.push_back(to.length_of(node, 0, axis)), size *= places.shape.back();
    if (size > (1 << 22)) throw unsupported("turns more elements than are here");
  }
  if (static_cast<std::int64_t>(counts.size()) != places.shape[batch] || time == batch)
    throw unsupported("has lengths of sequences that do not fit its input");
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank));
  for (std::int64_t i = 0; i < size; ++i) {
    auto rest = i;
    for (std::size_t axis = index.size(); axis-- > 0; rest /= places.shape[axis])
      index[axis] = rest % places.shape[axis];
    auto const count = counts[static_cast<std::size_t>(index[batch])], step = index[time];
    if (count < 0 || count > places.shape[time]) throw unsupported("turns more steps than there are");
    places.values.push_back(static_cast<double>(step < count ? count - 1 - step : step));
  }
  node_maker const make(to, node);
  auto const axis = static_cast<std::int64_t>(time);
  to.set_alias(node, make("GatherElements", {node.inputs[0], to.add_constant(std::move(places))}, {{"axis", axis}}), 0);
}

/// Reverses the first steps of sequences.
void reverse_sequence(trace& to, onnx_node const& node) {
  auto const axis = node.integer("time_axis", 0);
  auto const counts = to.required(node, 1).integers();
  if (counts.empty() || std::any_of(counts.begin(), counts.end(), [&](auto each) { return each != counts[0]; }))
    return reverse_each(to, node, counts);
  auto const steps = to.length_of(node, 0, axis), count = counts[0];
  if (count < 1 || count > steps) throw unsupported("turns more steps than there are");
  node_maker const make(to, node);
  auto const axes = make.whole({static_cast<double>(axis)});
  auto const part = [&](std::int64_t from, std::int64_t end, double step) {
    return make("Slice", {node.inputs[0], make.whole({static_cast<double>(from)}),
                          make.whole({static_cast<double>(end)}), axes, make.whole({step})});
  };
  auto y = part(count - 1, -steps - 1, -1);
  if (count < steps) y = make("Concat", {y, part(count, steps, 1)}, {{"axis", axis}});
  to.set_alias(node, y, 0);
}

/// Puts one number at the place that each element names along a new axis, and another one elsewhere.
void one_hot(trace& to, onnx_node const& node) {
  auto const depth = to.required(node, 1), values = to.required(node, 2);
  constexpr double most = 1 << 20;
  if (depth.values.size() != 1 || depth.values[0] < 1 || depth.values[0] > most || values.values.size() != 2)
    throw unsupported("has a depth or values of another number");
  auto const count = static_cast<std::int64_t>(depth.values[0]);
  int const rank = to.tensor(node, 0).rank + 1;
  int const axis = axis_of(node.integer("axis", -1), rank);
  node_maker const make(to, node);
  onnx_constant places{std::vector<std::int64_t>(static_cast<std::size_t>(rank - axis), 1),
                       std::vector<double>(static_cast<std::size_t>(count)), true};
  places.shape[0] = count;
  std::iota(places.values.begin(), places.values.end(), 0);
  auto const& x = node.inputs[0];
  auto const from_end = make("Add", {x, make.real(depth.values[0])});
  auto const place = make("Where", {make("Less", {x, make.real(0)}), from_end, x});
  auto const wide = make("Unsqueeze", {place, make.whole({static_cast<double>(axis)})});
  auto const is_there = make("Cast", {make("Equal", {wide, to.add_constant(std::move(places))})}, {{"to", 1}});
  auto const off = values.values[0], on = values.values[1];
  auto y = on - off == 1 ? is_there : make("Mul", {is_there, make.real(on - off)});
  if (off != 0) y = make("Add", {y, make.real(off)});
  to.set_alias(node, y, 0);
}

/// The negative logarithms of the probabilities of classes, which stand along axis 1, and their mean or sum.
void likelihood_loss(trace& to, onnx_node const& node, std::string const& logarithms) {
  node_maker const make(to, node);
  auto const axes = make.whole({1});
  auto place = make("Unsqueeze", {node.inputs.at(1), axes});
  std::string counts;
  if (node.find("ignore_index") != nullptr) {
    auto const ignored = make.real(static_cast<double>(node.integer("ignore_index", 0)));
    auto const is_ignored = make("Equal", {place, ignored});
    counts = make("Cast", {make("Not", {is_ignored})}, {{"to", 1}});
    place = make("Where", {is_ignored, make.real(0), place});
  }
  auto y = make("Neg", {make("GatherElements", {logarithms, place}, {{"axis", 1}})});
  if (has_input(node, 2)) {
    auto const weight = make("Gather", {node.inputs[2], place}, {{"axis", 0}});
    counts = counts.empty() ? weight : make("Mul", {counts, weight});
  }
  if (!counts.empty()) y = make("Mul", {y, counts});
  auto const reduction = node.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    throw unsupported("has the reduction '" + reduction + "', which is not here");
  auto const total = [&](char const* type, std::string const& x) { return make(type, {x}, {{"keepdims", 0}}); };
  if (reduction == "none")
    y = make("Squeeze", {y, axes});
  else if (reduction == "sum")
    y = total("ReduceSum", y);
  else if (counts.empty())
    y = total("ReduceMean", y);
  else
    y = make("Div", {total("ReduceSum", y), total("ReduceSum", counts)});
  to.set_alias(node, y, 0);
}

void cross_entropy_loss(trace& to, onnx_node const& node) {
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  // Until opset 12, LogSoftmax is along all axes from one on, and the classes of a loss are along one.
  node_maker const make(to, node);
  constexpr std::int64_t first_of_one_axis = 13;
  auto const logarithms =
      to.graph().opset < first_of_one_axis
          ? make("Sub", {node.inputs[0], make("ReduceLogSumExp", {node.inputs[0], make.whole({1})})})
          : make("LogSoftmax", {node.inputs[0]}, {{"axis", 1}});
  likelihood_loss(to, node, logarithms);
  if (node.outputs.size() > 1) to.set_alias(node, logarithms, 1);
}

/// The remainder of numbers with a fraction that has the sign of the divisor, made from the exact one of the dividend.
void remainder_of_divisor(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const& divisor = node.inputs.at(1);
  auto const rest = make("Mod", {node.inputs.at(0), divisor}, {{"fmod", 1}});
  auto const is_other = make("Less", {make("Mul", {make("Sign", {rest}), divisor}), make.real(0)});
  to.set_alias(node, make("Where", {is_other, make("Add", {rest, divisor}), rest}), 0);
}

/// Numbers below 0 times slopes, which broadcast.
void sloped(trace& to, onnx_node const& node) {
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  node_maker const make(to, node);
  auto const& x = node.inputs[0];
  to.set_alias(node, make("Where", {make("Less", {x, make.real(0)}), make("Mul", {x, node.inputs[1]}), x}), 0);
}

/// The largest or smallest values of a row of constants, and their places.
void largest_of_constants(trace& to, onnx_node const& node) {
  auto const x = to.required(node, 0);
  auto const count = to.required(node, 1).integers();
  if (x.shape.size() != 1 || count.size() != 1 || count[0] < 1 || count[0] > x.shape[0])
    throw unsupported("is of constants of several axes");
  std::vector<std::size_t> order(x.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  bool const is_largest = node.integer("largest", 1) != 0;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return is_largest ? x.values[a] > x.values[b] : x.values[a] < x.values[b];
  });
  order.resize(static_cast<std::size_t>(count[0]));
  onnx_constant values{{count[0]}, {}, x.is_whole}, places{{count[0]}, {}, true};
  for (auto const each : order) values.values.push_back(x.values[each]), places.values.push_back(double(each));
  to.set_alias(node, to.add_constant(std::move(values)), 0);
  to.set_alias(node, to.add_constant(std::move(places)), 1);
}

/// Replaces some of a row of constants.
void scatter_constants(trace& to, onnx_node const& node) {
  auto x = to.required(node, 0);
  auto const places = to.required(node, 1).integers();
  auto const values = to.required(node, 2);
  if (x.shape.size() != 1 || values.shape.size() != 1 || values.values.size() != places.size() ||
      node.text("reduction", "none") != "none")
    throw unsupported("is of constants of several axes");
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < places.size(); ++i) {
    int const place = axis_of(places[i], static_cast<int>(x.values.size()));
    if (!seen.insert(place).second) throw unsupported("names a place twice");
    x.values[static_cast<std::size_t>(place)] = values.values[i];
  }
  to.set_constant(node, std::move(x));
}

/// Divides constants along an axis.
void split_constants(trace& to, onnx_node const& node) {
  auto const x = to.required(node, 0);
  int const axis = axis_of(node.integer("axis", 0), static_cast<int>(x.shape.size()));
  auto const length = x.shape[static_cast<std::size_t>(axis)], count = static_cast<std::int64_t>(node.outputs.size());
  auto const given = to.constant(node, 1);
  auto sizes = given ? given->integers() : std::vector<std::int64_t>();
  auto const each_size = (length + count - 1) / count;
  for (std::int64_t i = 0; !given && i < count; ++i)
    sizes.push_back(std::clamp<std::int64_t>(length - i * each_size, 0, each_size));
  if (sizes.size() != node.outputs.size() || std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != length)
    throw unsupported("has other sizes than its input and outputs");
  node_maker const make(to, node);
  auto const along = make.whole({static_cast<double>(axis)});
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); first += sizes[i++]) {
    if (sizes[i] < 0) throw unsupported("has other sizes than its input and outputs");
    auto const begin = static_cast<double>(first), end = static_cast<double>(first + sizes[i]);
    to.set_alias(node, make("Slice", {node.inputs[0], make.whole({begin}), make.whole({end}), along}), i);
  }
}

/// Puts a number around constants.
void pad_constants(trace& to, onnx_node const& node) {
  auto const x = to.required(node, 0);
  auto const amounts = to.required(node, 1).integers();
  auto const value = to.constant(node, 2), given = to.constant(node, 3);
  auto axes = given ? given->integers() : std::vector<std::int64_t>();
  for (std::size_t i = 0; !given && i < x.shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (node.text("mode", "constant") != "constant") throw unsupported("copies constants");
  if (amounts.size() != 2 * axes.size()) throw unsupported("has amounts that do not fit its input");
  node_maker const make(to, node);
  auto name = node.inputs[0];
  auto shape = x.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    int const axis = axis_of(axes[i], static_cast<int>(shape.size()));
    auto const beside = [&](std::int64_t width) {
      onnx_constant made{shape, {}, x.is_whole};
      made.shape[static_cast<std::size_t>(axis)] = width;
      double count = 1;
      for (auto const each : made.shape) count *= static_cast<double>(each);
      if (width < 0 || count > (1 << 16)) throw unsupported("has amounts that do not fit its input");
      made.values.assign(static_cast<std::size_t>(count), value && !value->values.empty() ? value->values[0] : 0);
      return to.add_constant(std::move(made));
    };
    auto const before = amounts[i], after = amounts[i + axes.size()];
    if (before == 0 && after == 0) continue;
    name = make("Concat", {beside(before), name, beside(after)}, {{"axis", axis}});
    shape[static_cast<std::size_t>(axis)] += before + after;
  }
  to.set_alias(node, name, 0);
}

/// The other outputs of a layer normalization: the means, and the inverse roots of the variances.
void set_moments(trace& to, onnx_node const& node) {
  auto const is_taken = [&](std::size_t i) {
    return i < node.outputs.size() && !node.outputs[i].empty() && to.is_taken(node.outputs[i]);
  };
  if (!is_taken(1) && !is_taken(2)) return;
  node_maker const make(to, node);
  int const rank = to.tensor(node, 0).rank;
  std::vector<double> axes;
  for (int i = axis_of(node.integer("axis", -1), rank); i < rank; ++i) axes.push_back(i);
  auto const of_axes = make.whole(std::move(axes));
  auto const mean = make("ReduceMean", {node.inputs[0], of_axes});
  if (is_taken(1)) to.set_alias(node, mean, 1);
  if (!is_taken(2)) return;
  auto const apart = make("Sub", {node.inputs[0], mean});
  auto const variance = make("ReduceMean", {make("Mul", {apart, apart}), of_axes});
  auto const root = make("Sqrt", {make("Add", {variance, make.real(node.real("epsilon", 1e-5F))})});
  to.set_alias(node, make("Reciprocal", {root}), 2);
}

/// Converts nodes that have only constants by the second function.
onnx_converter or_of_constants(onnx_converter const& of_tensors, onnx_converter const& of_constants) {
  return [=](trace& to, onnx_node const& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (to.is_tensor(node, i)) return of_tensors(to, node);
    return of_constants(to, node);
  };
}

}  // namespace

bool has_input(onnx_node const& node, std::size_t input) {
  return input < node.inputs.size() && !node.inputs[input].empty();
}

std::string node_maker::operator()(char const* type, std::vector<std::string> inputs,
                                   std::map<std::string, std::int64_t> const& numbers) const {
  onnx_node made;
  made.type = type, made.name = of_.name, made.inputs = std::move(inputs);
  for (auto const& [name, number] : numbers) {
    auto& value = made.attributes[name];
    value.kind = onnx_kind::integer, value.integer = number;
  }
  return to_.convert_made(std::move(made));
}

std::string node_maker::of(onnx_node made) const {
  made.name = of_.name;
  return to_.convert_made(std::move(made));
}

std::string node_maker::turned(std::string const& x, std::vector<std::int64_t> const& order) const {
  onnx_node made;
  made.type = "Transpose", made.inputs = {x};
  auto& perm = made.attributes["perm"];
  perm.kind = onnx_kind::integers, perm.integers = order;
  return of(std::move(made));
}

std::string node_maker::picked(std::string const& x, std::vector<double> places, std::int64_t axis) const {
  return (*this)("Gather", {x, whole(std::move(places))}, {{"axis", axis}});
}

std::string node_maker::whole(std::vector<double> values) const {
  auto const count = static_cast<std::int64_t>(values.size());
  return to_.add_constant({{count}, std::move(values), true});
}

std::string node_maker::real(double value) const { return to_.add_constant({{}, {value}, false}); }

void add_made_converters(std::map<std::string, onnx_converter>& to) {
  to["ReverseSequence"] = reverse_sequence, to["OneHot"] = one_hot;
  to["NegativeLogLikelihoodLoss"] = [](trace& t, onnx_node const& node) {
    if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
    likelihood_loss(t, node, node.inputs[0]);
  };
  auto const modulo = to.at("Mod");
  to["Mod"] = [=](trace& t, onnx_node const& node) {
    bool const is_real = has_input(node, 0) && element_kind_of(t.type_of(node.inputs[0])) == element_kind::real;
    if (is_real && node.integer("fmod", 0) == 0) return remainder_of_divisor(t, node);
    modulo(t, node);
  };
  to["PRelu"] = either(to.at("PRelu"), sloped);
  to["OptionalGetElement"] = [](trace& t, onnx_node const& node) { t.set_alias(node, node.inputs.at(0), 0); };
  add_attention_operations(to), add_pooling_operations(to), add_resize_operations(to);
  add_sampling_operations(to), add_transform_operations(to), add_state_operations(to), add_region_operations(to);
  add_quantized_operations(to), add_microsoft_attention(to);
  add_einsum_operations(to), add_tap_operations(to);
  auto const normalize = to.at("LayerNormalization");
  to["LayerNormalization"] = [=](trace& t, onnx_node const& node) {
    normalize(t, node);
    set_moments(t, node);
  };
  to["Split"] = or_of_constants(to.at("Split"), split_constants);
  to["Pad"] = or_of_constants(to.at("Pad"), pad_constants);
  to["TopK"] = or_of_constants(to.at("TopK"), largest_of_constants);
  to["ScatterElements"] = or_of_constants(to.at("ScatterElements"), scatter_constants);
  to["SoftmaxCrossEntropyLoss"] = cross_entropy_loss;
}

}  // namespace stagecraft::tool
