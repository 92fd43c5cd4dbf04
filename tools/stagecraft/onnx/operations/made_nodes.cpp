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

/// Reverses the first steps of sequences, equally many in each.
void reverse_sequence(trace& to, onnx_node const& node) {
  auto const axis = node.integer("time_axis", 0);
  auto const counts = to.required(node, 1).integers();
  if (counts.empty() || std::any_of(counts.begin(), counts.end(), [&](auto each) { return each != counts[0]; }))
    throw unsupported("turns other numbers of steps from sample to sample");
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
  // Before opset 13, LogSoftmax is along all axes from one on, and the classes of a loss are along one.
  node_maker const make(to, node);
  constexpr std::int64_t first_of_one_axis = 13;
  auto const logarithms =
      to.graph().opset < first_of_one_axis
          ? make("Sub", {node.inputs[0], make("ReduceLogSumExp", {node.inputs[0], make.whole({1})})})
          : make("LogSoftmax", {node.inputs[0]}, {{"axis", 1}});
  likelihood_loss(to, node, logarithms);
  if (node.outputs.size() > 1) to.set_alias(node, logarithms, 1);
}

/// Sums of products of constants.
void einsum_of_constants(trace& to, onnx_node const& node, std::vector<std::string> const& parts,
                         std::string const& result) {
  std::vector<onnx_constant> of;
  std::string letters;
  std::map<char, std::int64_t> lengths;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    of.push_back(to.required(node, i));
    if (of[i].shape.size() != parts[i].size()) throw unsupported("has a formula for other ranks");
    for (std::size_t k = 0; k < parts[i].size(); ++k) {
      if (!lengths.emplace(parts[i][k], of[i].shape[k]).second && lengths[parts[i][k]] != of[i].shape[k])
        throw unsupported("has inputs whose lengths do not fit");
      if (letters.find(parts[i][k]) == std::string::npos) letters += parts[i][k];
    }
  }
  onnx_constant made{{}, {}, of[0].is_whole};
  std::int64_t count = 1, size = 1;
  for (char const c : letters)
    if (count *= lengths[c]; count < 1 || count > (1 << 22)) throw unsupported("is of constants of this size");
  for (char const c : result) {
    if (!lengths.contains(c)) throw unsupported("has a result with another letter");
    made.shape.push_back(lengths[c]), size *= lengths[c];
  }
  made.values.assign(static_cast<std::size_t>(size), 0);
  std::map<char, std::int64_t> at;
  auto const place = [&](std::string const& part) {
    std::int64_t index = 0;
    for (char const c : part) index = index * lengths[c] + at[c];
    return static_cast<std::size_t>(index);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    auto rest = i;
    for (char const c : letters) at[c] = rest % lengths[c], rest /= lengths[c];
    double product = 1;
    for (std::size_t k = 0; k < of.size(); ++k) product *= of[k].values[place(parts[k])];
    made.values[place(result)] += product;
  }
  to.set_constant(node, std::move(made));
}

/// Sums of products in Einstein's notation, of one tensor or two.
void einsum(trace& to, onnx_node const& node) {
  std::string formula;
  std::map<char, char> letters;  // a formula here has small letters
  for (char const c : node.text("equation", "")) {
    bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter) formula += letters.emplace(c, static_cast<char>('a' + letters.size())).first->second;
    if (!is_letter && c != ' ') formula += c;
  }
  if (letters.size() > 25) throw unsupported("has all letters");
  auto const arrow = formula.find("->");
  if (arrow == std::string::npos) throw unsupported("has a formula without a result");
  std::vector<std::string> parts{""};
  for (char const c : formula.substr(0, arrow)) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  auto result = formula.substr(arrow + 2);
  auto all = parts;
  all.push_back(result);
  for (auto const& each : all) {
    auto sorted = each;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() ||
        std::any_of(each.begin(), each.end(), [](char c) { return !(c >= 'a' && c <= 'z'); }))
      throw unsupported("has a formula with a diagonal, with dots or with other signs than letters");
  }
  if (parts.size() != node.inputs.size() || parts.empty()) throw unsupported("has a formula for another number");
  bool is_constant = true;
  for (std::size_t i = 0; i < parts.size(); ++i) is_constant = is_constant && !to.is_tensor(node, i);
  if (is_constant) return einsum_of_constants(to, node, parts, result);
  if (parts.size() > 2) throw unsupported("is of more than two tensors");
  bool const is_one = to.is_one_sample();
  std::string free = "a";
  while (is_one && formula.find(free[0]) != std::string::npos)
    if (++free[0] > 'z') throw unsupported("has all letters");
  traced_operation made{"einsum", {}};
  std::vector<traced_tensor> tensors;
  std::vector<int> place;
  std::map<char, int> lengths;
  auto const note = [&](char letter, std::int64_t length) {
    if (length > (1 << 24) || !lengths.emplace(letter, static_cast<int>(length)).second)
      if (lengths[letter] != length) throw unsupported("has inputs whose lengths do not fit");
  };
  char samples = is_one ? free[0] : 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool const is_tensor = to.is_tensor(node, i);
    place.push_back(static_cast<int>(is_tensor ? tensors.size() : made.constants.size()) * (is_tensor ? 1 : -1) -
                    (is_tensor ? 0 : 1));
    if (is_tensor) {
      auto const x = to.complete_in_order(to.tensor(node, i));
      if (static_cast<int>(parts[i].size()) != x.rank || x.rank == 0)
        throw unsupported("has a formula for other ranks");
      if (is_one) parts[i].insert(0, free);
      if (samples != 0 && parts[i][0] != samples) throw unsupported("joins samples with another axis");
      samples = parts[i][0];
      for (std::size_t k = 1; k < parts[i].size(); ++k) note(parts[i][k], x.lengths[k - 1]);
      tensors.push_back(x);
    } else {
      auto constant = to.required(node, i);
      if (parts[i].size() != constant.shape.size() || parts[i].empty())
        throw unsupported("has a formula for other ranks");
      for (std::size_t k = 0; k < parts[i].size(); ++k) note(parts[i][k], constant.shape[k]);
      made.constants.push_back(std::move(constant)), made.names.push_back(constant_name(node.inputs[i]));
    }
  }
  if (is_one) result.insert(0, free);
  if (result.empty() || result[0] != samples || lengths.contains(samples)) throw unsupported("moves samples");
  std::vector<int> out;
  for (std::size_t k = 1; k < result.size(); ++k) {
    if (!lengths.contains(result[k])) throw unsupported("has a result with another letter");
    out.push_back(lengths[result[k]]);
  }
  if (out.empty()) throw unsupported("has a result without axes");
  auto const text = string_literal((parts.size() == 1 ? parts[0] : parts[0] + "," + parts[1]) + "->" + result);
  auto const count = tensors.size();
  made.code = [=](operands const& x) {
    operands of;
    for (int const each : place)
      of.push_back(x[each >= 0 ? static_cast<std::size_t>(each) : count + static_cast<std::size_t>(-1 - each)]);
    return "ops.einsum("_cpp + text + ", {" + comma_list(of) + "})";
  };
  to.set(node, to.operate(std::move(made), tensors, out));
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
  to["ReverseSequence"] = reverse_sequence, to["OneHot"] = one_hot, to["Einsum"] = einsum;
  to["NegativeLogLikelihoodLoss"] = [](trace& t, onnx_node const& node) {
    if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
    likelihood_loss(t, node, node.inputs[0]);
  };
  add_attention_operations(to), add_pooling_operations(to), add_resize_operations(to);
  add_sampling_operations(to), add_transform_operations(to), add_state_operations(to), add_region_operations(to);
  auto const normalize = to.at("LayerNormalization");
  to["LayerNormalization"] = [=](trace& t, onnx_node const& node) {
    normalize(t, node);
    set_moments(t, node);
  };
  to["TopK"] = or_of_constants(to.at("TopK"), largest_of_constants);
  to["ScatterElements"] = or_of_constants(to.at("ScatterElements"), scatter_constants);
  to["SoftmaxCrossEntropyLoss"] = cross_entropy_loss;
}

}  // namespace stagecraft::tool
