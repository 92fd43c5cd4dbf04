// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that move numbers: axes and shapes.
#include "attention_nodes.hpp"
#include "onnx/operations/operation_nodes.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// Gives each of the graph's axes its new number.
void renumber(traced_tensor& x, std::vector<int> const& place) {
  for (int& axis : x.order)
    if (axis >= 0) axis = place[static_cast<std::size_t>(axis)];
  if (x.fused_axis >= 0) x.fused_axis = place[static_cast<std::size_t>(x.fused_axis)];
}

void transpose(trace& to, onnx_node const& node) {
  auto x = to.joined_tensor(node, 0);
  if (!x.flat_order.empty()) x = to.in_order(x);
  int const joined = x.joined_axis, rank = x.rank - (joined < 0 ? 0 : 1);
  std::vector<std::int64_t> reversed, perm;
  for (int i = rank; i-- > 0;) reversed.push_back(i);
  for (auto const each : node.integers("perm", reversed)) {
    int const axis = axis_of(each, rank);
    if (joined >= 0 && axis == joined) x.joined_axis = static_cast<int>(perm.size()), perm.push_back(axis);
    perm.push_back(joined >= 0 && axis >= joined ? axis + 1 : axis);
  }
  std::vector<int> place(static_cast<std::size_t>(x.rank), -1);
  if (perm.size() != place.size()) throw unsupported("has an order of axes that does not fit its input");
  for (std::size_t i = 0; i < perm.size(); ++i)
    place[static_cast<std::size_t>(axis_of(perm[i], x.rank))] = static_cast<int>(i);
  if (std::find(place.begin(), place.end(), -1) != place.end()) throw unsupported("has an axis twice");
  renumber(x, place);
  to.set(node, x);
}

std::vector<std::int64_t> axes_given(trace& to, onnx_node const& node) {
  auto const given = to.constant(node, 1);
  return given ? given->integers() : node.integers("axes", {});
}

void unsqueeze(trace& to, onnx_node const& node) {
  auto x = to.tensor(node, 0);
  if (!x.flat_order.empty()) x = to.in_order(x);
  auto const axes = axes_given(to, node);
  int const rank = x.rank + static_cast<int>(axes.size());
  if (rank > 8) throw unsupported("makes more than eight axes");
  std::vector<bool> is_new(static_cast<std::size_t>(rank));
  for (auto const axis : axes) is_new[static_cast<std::size_t>(axis_of(axis, rank))] = true;
  std::vector<int> place;
  for (int i = 0; i < rank; ++i)
    if (!is_new[static_cast<std::size_t>(i)]) place.push_back(i);
  if (place.size() != static_cast<std::size_t>(x.rank)) throw unsupported("has an axis twice");
  renumber(x, place);
  x.rank = rank;
  to.set(node, x);
}

void squeeze(trace& to, onnx_node const& node) {
  auto x = to.tensor(node, 0);
  auto given = axes_given(to, node);
  if (to.is_one_sample()) {
    x = to.complete_in_order(x);
    for (int axis = 0; given.empty() && axis < x.rank; ++axis)
      if (x.lengths[static_cast<std::size_t>(axis)] == 1) given.push_back(axis);
    std::vector<int> axes;
    for (auto const each : given) {
      axes.push_back(axis_of(each, x.rank));
      if (x.lengths[static_cast<std::size_t>(axes.back())] != 1)
        throw unsupported("removes an axis that is longer than 1");
    }
    return to.set(node, without_axes(to, x, axes));
  }
  if (given.empty()) throw unsupported("does not say which axes");
  std::vector<bool> goes(static_cast<std::size_t>(x.rank));
  for (auto const axis : given) goes[static_cast<std::size_t>(axis_of(axis, x.rank))] = true;
  if (x.fused_axis >= 0 && goes[static_cast<std::size_t>(x.fused_axis)]) throw unsupported("leaves out a direction");
  auto kept = x.order;
  std::erase_if(kept, [&](int axis) { return goes[static_cast<std::size_t>(axis)]; });
  if (kept.size() != x.order.size()) x = to.ordered(x, kept);  // the axis exists here: a Reshape removes it
  std::vector<int> place(static_cast<std::size_t>(x.rank));
  int next = 0;
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = goes[i] ? -1 : next++;
  renumber(x, place);
  x.rank = next;
  to.set(node, x);
}

/// Flattens everything but the samples. A picture is flattened in its order here, which its readers take into account.
traced_tensor flattened(trace& to, traced_tensor const& x) {
  if (x.lengths.size() == 1 && x.fused_axis < 0) {
    auto y = x;
    y.rank = 2, y.order = {0, 1};
    return y;
  }
  if (x.order[0] != 0 || x.fused_axis >= 0) throw unsupported("joins samples with another axis");
  auto y = to.call("Flatten", json::object(), {x});
  y.is_nonnegative = x.is_nonnegative;
  // If the axes longer than 1 are in order, all numbers are.
  std::vector<int> longer;
  for (std::size_t i = 1; i < x.order.size(); ++i)
    if (x.lengths[i - 1] > 1) longer.push_back(x.order[i]);
  if (!std::is_sorted(longer.begin(), longer.end())) y.flat_order = x.order, y.flat_lengths = x.lengths;
  return y;
}

std::int64_t count_of(std::vector<int> const& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1}, [](std::int64_t a, int b) { return a * b; });
}

/// True if a Reshape joins both directions of a recurrent layer, which are one axis here already.
bool joins_directions(traced_tensor const& x, std::vector<std::int64_t> const& wanted) {
  return x.fused_axis >= 0 && x.rank == 4 && wanted.size() == 3 && x.fused_axis == 2 && x.order.back() == 3;
}

/// Divides the last of the graph's axes into two if samples are not its first axis; the others stay.
bool divides_last_axis(trace& to, onnx_node const& node, traced_tensor const& x,
                       std::vector<std::int64_t> const& wanted) {
  auto const rank = static_cast<std::size_t>(x.rank);
  if (wanted.size() != rank + 1 || x.order.size() != rank || x.order[0] == 0 || x.order.back() != x.rank - 1 ||
      !x.flat_order.empty() || x.fused_axis >= 0)
    return false;
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    auto const length = wanted[static_cast<std::size_t>(x.order[i])];
    if (i == 0 ? !is_of_samples(to, length, 1) : length != x.lengths[i - 1]) return false;
  }
  auto const outer = wanted[rank - 1], inner = wanted[rank], last = std::int64_t{x.lengths.back()};
  if (outer < 1 || last % outer != 0 || last / outer != inner) return false;
  std::vector<std::int64_t> target(x.lengths.begin(), x.lengths.end() - 1);
  target.insert(target.end(), {outer, inner});
  auto y = to.call("Reshape", {{"target_shape", target}}, {x});
  y.rank = x.rank + 1, y.order = x.order;
  y.order.push_back(x.rank);
  to.set(node, y);
  return true;
}

/// Inserts or removes axes of length 1 if samples are not the first axis.
bool moves_unit_axes(trace& to, onnx_node const& node, traced_tensor const& x,
                     std::vector<std::int64_t> const& wanted) {
  if (x.order.empty() || x.order[0] == 0 || !x.flat_order.empty() || x.fused_axis >= 0 || wanted.size() > 8)
    return false;
  if (auto const given = to.lengths(node, 1); given && !given->values.empty() && given->values[0] == batch_marker)
    return false;  // samples come first: `wanted` begins with 0, as if the first axis stays
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(x.rank), 1);
  for (std::size_t i = 1; i < x.order.size(); ++i) lengths[static_cast<std::size_t>(x.order[i])] = x.lengths[i - 1];
  std::vector<int> place(lengths.size(), -1);
  std::size_t at = 0;  // place in wanted
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    auto const found = std::find(x.order.begin(), x.order.end(), static_cast<int>(axis));
    if (found == x.order.end()) continue;  // it has length 1 and no counterpart here
    auto const fits = [&] {
      return found == x.order.begin() ? is_of_samples(to, wanted[at], 1) || (wanted[at] == 0 && at == axis)
                                      : wanted[at] == lengths[axis] || (wanted[at] == 0 && at == axis);
    };
    while (at < wanted.size() && wanted[at] == 1 && !fits()) ++at;
    if (at == wanted.size() || !fits()) return false;
    place[axis] = static_cast<int>(at++);
  }
  for (; at < wanted.size(); ++at)
    if (wanted[at] != 1) return false;
  auto y = x;
  y.rank = static_cast<int>(wanted.size());
  for (int& axis : y.order) axis = place[static_cast<std::size_t>(axis)];
  to.set(node, y);
  return true;
}

/// A Reshape in a graph without samples: all lengths are known.
void reshape_all(trace& to, onnx_node const& node, std::vector<std::int64_t> wanted, bool copies_zeros) {
  auto const x = to.complete_in_order(to.tensor(node, 0));
  auto const total = count_of(x.lengths);
  std::int64_t known = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && copies_zeros && i < static_cast<std::size_t>(x.rank)) wanted[i] = x.lengths[i];
    if (wanted[i] == -1) continue;
    if (wanted[i] < 1 || wanted[i] > total / known) throw unsupported("has a shape that does not fit its input");
    known *= wanted[i];
  }
  std::vector<int> target;
  for (auto const each : wanted) target.push_back(static_cast<int>(each == -1 ? total / known : each));
  if (count_of(target) != total || target.size() > shape::max_rank)
    throw unsupported("has a shape that does not fit its input");
  auto y = x;
  if (target.empty()) target.push_back(1);
  if (target != x.lengths) y = to.call("Reshape", {{"target_shape", target}}, {x});
  y.rank = static_cast<int>(wanted.size()), y.order.assign(target.size() + 1, unit_axis);
  std::iota(y.order.begin(), y.order.end() - (wanted.empty() ? 1 : 0), no_axis);
  y.is_nonnegative = x.is_nonnegative, y.elements = x.elements;
  to.set(node, y);
}

void reshape_to(trace& to, onnx_node const& node, std::vector<std::int64_t> wanted) {
  if (take_attention_heads(to, node, to.joined_tensor(node, 0), wanted)) return;
  auto x = to.tensor(node, 0);
  if (divides_last_axis(to, node, x, wanted) || moves_unit_axes(to, node, x, wanted)) return;
  if (joins_directions(x, wanted)) {
    x.fused_axis = -1, x.rank = 3, x.order.back() = 2;
    return to.set(node, x);
  }
  if (wanted.empty() || wanted.size() > shape::max_rank + 1)
    throw unsupported("has a shape of more axes than are here");
  if (wanted[0] > 0) {  // the file has a fixed number of samples
    auto const& inputs = to.graph().inputs;
    if (inputs.empty() || inputs[0].shape.empty() || inputs[0].shape[0] != wanted[0])
      throw unsupported("joins samples with another axis");
  }
  auto const total = count_of(x.lengths);
  std::int64_t known = 1;
  std::size_t open = 0;
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && node.type == "Reshape") {
      auto const place = std::find(x.order.begin(), x.order.end(), static_cast<int>(i));
      if (place == x.order.begin()) throw unsupported("moves the axis of samples, which is the first here");
      wanted[i] = place == x.order.end() ? 1 : x.lengths[static_cast<std::size_t>(place - x.order.begin()) - 1];
    }
    if (wanted[i] == -1 && open == 0)
      open = i;
    else if (wanted[i] < 1 || wanted[i] > (1 << 30))
      throw unsupported("has a shape that is not known");
    else if (wanted[i] > total / known)
      throw unsupported("has a shape that does not fit its input");
    else
      known *= wanted[i];
  }
  if (open > 0) wanted[open] = total / known;
  if (open > 0 ? total % known != 0 : known != total) throw unsupported("has a shape that does not fit its input");
  if (take_attention_heads(to, node, x, wanted)) return;  // all lengths are known
  if (wanted.size() == 2) return to.set(node, flattened(to, x));
  x = to.in_order(x);
  std::vector<int> const target(wanted.begin() + 1, wanted.end());
  if (target == x.lengths) return to.set(node, x);
  auto y = to.call("Reshape", {{"target_shape", target}}, {x});
  y.is_nonnegative = x.is_nonnegative;
  to.set(node, y);
}

void flatten(trace& to, onnx_node const& node) {
  if (to.is_one_sample()) {
    auto const x = to.complete_in_order(to.tensor(node, 0));
    auto const given = node.integer("axis", 1);
    auto const axis = given == x.rank ? given : axis_of(given, std::max(x.rank, 1));
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < axis; ++i) rows *= x.lengths[static_cast<std::size_t>(i)];
    return reshape_all(to, node, {rows, -1}, false);
  }
  if (axis_of(node.integer("axis", 1), to.tensor(node, 0).rank) != 1)
    throw unsupported("joins samples with another axis");
  reshape_to(to, node, {0, -1});
}

void shape_of(trace& to, onnx_node const& node) {
  auto const& x = to.joined_tensor(node, 0);
  onnx_constant result{{x.rank}, std::vector<double>(static_cast<std::size_t>(x.rank), 1), true};
  if (x.fused_axis >= 0) throw unsupported("takes both directions of a recurrent layer apart");
  for (std::size_t i = 0; i < x.order.size(); ++i)
    if (x.order[i] >= 0)
      result.values[static_cast<std::size_t>(x.order[i])] = i > 0                ? x.lengths[i - 1]
                                                            : to.is_one_sample() ? 1
                                                                                 : batch_marker;
  if (!x.flat_order.empty()) result.values = {batch_marker, static_cast<double>(x.lengths[0])};
  if (x.joined_axis >= 0) {  // a multiple of the number of samples
    auto const first = result.values.begin() + x.joined_axis;
    first[0] *= first[1];
    result.values.erase(first + 1);
  }
  to.set_constant(node, asked_for(node, std::move(result)));
}

/// Converts means and maxima over a whole picture or sequence.
onnx_converter reduction(std::string const& kind) {
  return [=](trace& to, onnx_node const& node) {
    auto x = to.tensor(node, 0);
    auto const axes = node.inputs.size() > 1 ? to.required(node, 1).integers() : node.integers("axes", {});
    std::set<int> taken;
    for (auto const axis : axes) taken.insert(axis_of(axis, x.rank));
    if (taken.contains(x.order[0])) throw unsupported("is over samples");
    if (kind == "Average" && x.elements != element_kind::real) throw unsupported("is a mean of whole numbers");
    std::vector<int> order{x.order[0]}, kept;
    for (std::size_t i = 1; i < x.order.size(); ++i) (taken.contains(x.order[i]) ? order : kept).push_back(x.order[i]);
    if (axes.empty() || kept.size() != 1 || order.size() < 2 || order.size() > 4)
      throw unsupported("is over other axes than those of pictures and sequences");
    order.push_back(kept[0]);
    bool is_kept = true;  // axes in any order, but all before the channels
    for (std::size_t i = 1; i + 1 < x.order.size(); ++i) is_kept = is_kept && taken.contains(x.order[i]);
    if (!is_kept || !x.flat_order.empty() || x.fused_axis >= 0) x = to.ordered(x, order);
    auto y = to.call("Global" + kind + "Pooling" + std::to_string(x.lengths.size() - 1) + "D", json::object(), {x});
    y.rank = x.rank, y.order = {x.order[0], x.order.back()}, y.is_nonnegative = x.is_nonnegative;
    if (node.integer("keepdims", 1) == 0) {
      for (int& axis : y.order)
        axis -= static_cast<int>(std::count_if(taken.begin(), taken.end(), [&](int t) { return t < axis; }));
      y.rank -= static_cast<int>(taken.size());
    }
    to.set(node, y);
  };
}

}  // namespace

void add_shape_converters(std::map<std::string, onnx_converter>& to) {
  to["Transpose"] = transpose, to["Unsqueeze"] = unsqueeze, to["Squeeze"] = squeeze, to["Flatten"] = flatten;
  to["Shape"] = shape_of;
  to["Size"] = [](trace& t, onnx_node const& node) {
    if (!t.is_one_sample()) throw unsupported("counts samples, whose number is not known");
    auto const count = static_cast<double>(count_of(t.tensor(node, 0).lengths));
    t.set_constant(node, {{}, {count}, true});
  };
  to["ReduceMean"] = reduction("Average"), to["ReduceMax"] = reduction("Max");
  to["Reshape"] = [](trace& t, onnx_node const& node) {
    auto const given = t.lengths(node, 1);
    if (!given) throw unsupported("lacks its shape");
    auto wanted = *given;
    if (t.is_one_sample()) return reshape_all(t, node, wanted.integers(), node.integer("allowzero", 0) == 0);
    if (node.integer("allowzero", 0) != 0 && std::count(wanted.values.begin(), wanted.values.end(), 0.0) > 0)
      throw unsupported("has a shape with a length of 0");
    for (double& length : wanted.values)
      if (length == batch_marker) length = -1;
    auto integers = wanted.integers();
    if (!integers.empty() && integers[0] == -1) integers[0] = 0;
    reshape_to(t, node, integers);
  };
}

}  // namespace stagecraft::tool
