// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes that move numbers: axes, shapes, parts of tensors.
#include "attention_nodes.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

int axis_of(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw unsupported("has an axis that its input has not");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
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
  for (int& axis : x.order) axis = place[static_cast<std::size_t>(axis)];
  if (x.fused_axis >= 0) x.fused_axis = place[static_cast<std::size_t>(x.fused_axis)];
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
  for (int& axis : x.order) axis = place[static_cast<std::size_t>(axis)];
  if (x.fused_axis >= 0) x.fused_axis = place[static_cast<std::size_t>(x.fused_axis)];
  x.rank = rank;
  to.set(node, x);
}

void squeeze(trace& to, onnx_node const& node) {
  auto x = to.tensor(node, 0);
  auto const given = axes_given(to, node);
  if (given.empty()) throw unsupported("does not say which axes");
  std::vector<bool> goes(static_cast<std::size_t>(x.rank));
  for (auto const axis : given) goes[static_cast<std::size_t>(axis_of(axis, x.rank))] = true;
  if (x.fused_axis >= 0 && goes[static_cast<std::size_t>(x.fused_axis)]) throw unsupported("leaves out a direction");
  auto kept = x.order;
  std::erase_if(kept, [&](int axis) { return goes[static_cast<std::size_t>(axis)]; });
  if (kept.size() != x.order.size()) x = to.ordered(x, kept);  // it is there: a Reshape
  std::vector<int> place(static_cast<std::size_t>(x.rank));
  int next = 0;
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = goes[i] ? -1 : next++;
  for (int& axis : x.order) axis = place[static_cast<std::size_t>(axis)];
  if (x.fused_axis >= 0) x.fused_axis = place[static_cast<std::size_t>(x.fused_axis)];
  x.rank = next;
  to.set(node, x);
}

/// Everything but the samples in one axis. A picture is flattened as it lies here; who takes it knows.
traced_tensor flattened(trace& to, traced_tensor const& x) {
  if (x.lengths.size() == 1 && x.fused_axis < 0) {
    auto y = x;
    y.rank = 2, y.order = {0, 1};
    return y;
  }
  if (x.order[0] != 0 || x.fused_axis >= 0) throw unsupported("joins samples with another axis");
  auto y = to.call("Flatten", json::object(), {x});
  y.is_nonnegative = x.is_nonnegative;
  // The longer axes are in order: then all numbers are.
  std::vector<int> longer;
  for (std::size_t i = 1; i < x.order.size(); ++i)
    if (x.lengths[i - 1] > 1) longer.push_back(x.order[i]);
  if (!std::is_sorted(longer.begin(), longer.end())) y.flat_order = x.order, y.flat_lengths = x.lengths;
  return y;
}

std::int64_t count_of(std::vector<int> const& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1}, [](std::int64_t a, int b) { return a * b; });
}

/// Both directions of a recurrent layer lie in one axis here, as they are to be joined.
bool joins_directions(traced_tensor const& x, std::vector<std::int64_t> const& wanted) {
  return x.fused_axis >= 0 && x.rank == 4 && wanted.size() == 3 && x.fused_axis == 2 && x.order.back() == 3;
}

void reshape_to(trace& to, onnx_node const& node, std::vector<std::int64_t> wanted) {
  if (take_attention_heads(to, node, to.joined_tensor(node, 0), wanted)) return;
  auto x = to.tensor(node, 0);
  if (joins_directions(x, wanted)) {
    x.fused_axis = -1, x.rank = 3, x.order.back() = 2;
    return to.set(node, x);
  }
  if (wanted.empty() || wanted.size() > shape::max_rank + 1)
    throw unsupported("has a shape of more axes than are here");
  if (wanted[0] > 0) {  // files of a fixed number of samples
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
      wanted[i] = place == x.order.end() ? 1 : x.lengths[static_cast<std::size_t>(place - x.order.begin()) - 1];
    }
    if (wanted[i] == -1)
      open = i;
    else if (wanted[i] < 1 || wanted[i] > (1 << 30))
      throw unsupported("has a shape that is not known");
    else if ((known *= wanted[i]) > total)
      throw unsupported("has a shape that does not fit its input");
  }
  if (open > 0) wanted[open] = total / known;
  if (open > 0 ? total % known != 0 : known != total) throw unsupported("has a shape that does not fit its input");
  if (take_attention_heads(to, node, x, wanted)) return;  // with all lengths
  if (wanted.size() == 2) return to.set(node, flattened(to, x));
  x = to.in_order(x);
  std::vector<int> const target(wanted.begin() + 1, wanted.end());
  if (target == x.lengths) return to.set(node, x);
  auto y = to.call("Reshape", {{"target_shape", target}}, {x});
  y.is_nonnegative = x.is_nonnegative;
  to.set(node, y);
}

void flatten(trace& to, onnx_node const& node) {
  if (axis_of(node.integer("axis", 1), to.tensor(node, 0).rank) != 1)
    throw unsupported("joins samples with another axis");
  reshape_to(to, node, {0, -1});
}

void shape_of(trace& to, onnx_node const& node) {
  auto const& x = to.tensor(node, 0);
  onnx_constant result{{x.rank}, std::vector<double>(static_cast<std::size_t>(x.rank), 1), true};
  if (x.fused_axis >= 0) throw unsupported("takes both directions of a recurrent layer apart");
  for (std::size_t i = 0; i < x.order.size(); ++i)
    result.values[static_cast<std::size_t>(x.order[i])] = i == 0 ? batch_marker : x.lengths[i - 1];
  if (!x.flat_order.empty()) result.values = {batch_marker, static_cast<double>(x.lengths[0])};
  to.set_constant(node, asked_for(node, std::move(result)));
}

/// Zeros, or copies, around a picture or a sequence: [before, after] for each of a tensor's own axes but the first.
traced_tensor padded(trace& to, traced_tensor const& x, std::vector<std::pair<int, int>> const& each, bool cuts) {
  auto const rank = each.size();
  auto const [before, after] = each.back();
  if (before != 0 || after != 0 || (rank != 2 && rank != 3 && rank != 4))
    throw unsupported("pads or cuts other axes than those of pictures and sequences");
  json amounts = json::array();
  for (std::size_t i = 0; i + 1 < rank; ++i) amounts.push_back(json::array({each[i].first, each[i].second}));
  std::string const name = std::string(cuts ? "Cropping" : "ZeroPadding") + std::to_string(rank - 1) + "D";
  auto y = to.call(name, {{cuts ? "cropping" : "padding", rank == 2 ? amounts[0] : amounts}}, {x});
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
  return y;
}

/// The amounts of the graph's axes as those of a tensor's own; where one is not there, it must have none.
std::vector<std::pair<int, int>> own_amounts(traced_tensor const& x, std::vector<std::pair<int, int>> const& given) {
  std::vector<std::pair<int, int>> result;
  int total = 0, own = 0;
  for (auto const& [before, after] : given) total += before + after;
  for (std::size_t i = 0; i < x.order.size(); ++i) {
    auto const& amount = given[static_cast<std::size_t>(x.order[i])];
    own += amount.first + amount.second;
    if (i > 0) result.push_back(amount);
    if (i == 0 && (amount.first != 0 || amount.second != 0)) throw unsupported("pads or cuts samples");
  }
  if (own != total) throw unsupported("pads an axis of length 1");
  return result;
}

void pad(trace& to, onnx_node const& node) {
  auto const x = to.tensor(node, 0);
  auto const amounts = to.required(node, 1).integers();
  auto const value = to.constant(node, 2);
  if (node.text("mode", "constant") != "constant")
    throw unsupported("pads with copies (" + node.text("mode", "") + ")");
  if (value && !value->values.empty() && value->values[0] != 0) throw unsupported("pads with another number than 0");
  auto const given = to.constant(node, 3);
  auto axes = given ? given->integers() : std::vector<std::int64_t>();
  for (int i = 0; !given && i < x.rank; ++i) axes.push_back(i);
  if (amounts.size() != 2 * axes.size() || axes.size() > static_cast<std::size_t>(x.rank) || !x.flat_order.empty())
    throw unsupported("has amounts that do not fit its input");
  std::vector<std::pair<int, int>> each(static_cast<std::size_t>(x.rank));
  bool is_any = false;
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    auto const before = amounts[i], after = amounts[i + amounts.size() / 2];
    if (before < 0 || after < 0 || before > 4096 || after > 4096)
      throw unsupported("has amounts that are not from 0 to 4096");
    each[static_cast<std::size_t>(axis_of(axes[i], x.rank))] = {static_cast<int>(before), static_cast<int>(after)};
    is_any = is_any || before > 0 || after > 0;
  }
  to.set(node, is_any ? padded(to, x, own_amounts(x, each), false) : x);
}

/// So many of the last of a tensor's own axes, from one on. What a dense layer gives is divided by its units.
traced_tensor part_of_last(trace& to, traced_tensor const& x, int first, int count) {
  auto const rank = static_cast<int>(x.lengths.size());
  int const length = x.lengths.back();
  traced_tensor y;
  if (auto const dense = to.layer(x); dense.class_name == "Dense") {
    auto config = dense.config;
    config["units"] = count;
    std::vector<onnx_constant> weights;
    for (auto const& each : dense.weights) {
      onnx_constant part{each.shape, {}, false};
      part.shape.back() = count;
      for (std::size_t i = 0; i < each.values.size(); ++i)
        if (auto const unit = static_cast<int>(i % static_cast<std::size_t>(length));
            unit >= first && unit < first + count)
          part.values.push_back(static_cast<double>(each.values[i]));
      weights.push_back(std::move(part));
    }
    auto const& below = to.layer_at(dense.inputs[0]);
    traced_tensor from{dense.inputs[0], x.rank, x.order, below.lengths};
    y = to.call("Dense", config, {from}, weights,
                dense.name.empty() ? "" : dense.name + "_" + std::to_string(first / count));
  } else {
    auto const amount = json::array({first, length - first - count});
    auto const from_last = rank == 1   ? json::array({length, 1})
                           : rank == 2 ? json::array({2, 1})
                                       : json::array({3, 1, 2});
    auto const to_last = rank == 1 ? json::array({count}) : rank == 2 ? json::array({2, 1}) : json::array({2, 3, 1});
    if (rank > 3) throw unsupported("takes a part of the channels of more than a picture");
    y = rank == 1 ? to.call("Reshape", {{"target_shape", from_last}}, {x})
                  : to.call("Permute", {{"dims", from_last}}, {x});
    y = rank == 3 ? to.call("Cropping2D", {{"cropping", json::array({amount, json::array({0, 0})})}}, {y})
                  : to.call("Cropping1D", {{"cropping", amount}}, {y});
    y = rank == 1 ? to.call("Reshape", {{"target_shape", to_last}}, {y}) : to.call("Permute", {{"dims", to_last}}, {y});
  }
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
  return y;
}

/// So many of one of the graph's axes, from one on.
traced_tensor part_of(trace& to, traced_tensor const& x, int axis, std::int64_t first, std::int64_t count) {
  if (!x.flat_order.empty() || x.fused_axis >= 0) throw unsupported("cuts a tensor that was flattened");
  auto const place = static_cast<std::size_t>(std::find(x.order.begin(), x.order.end(), axis) - x.order.begin());
  if (place == 0 || place == x.order.size()) throw unsupported("cuts samples, or an axis of length 1");
  int const length = x.lengths[place - 1];
  if (first < 0 || count < 1 || first + count > length) throw unsupported("takes parts that its input has not");
  if (first == 0 && count == length) return x;
  if (place == x.lengths.size()) return part_of_last(to, x, static_cast<int>(first), static_cast<int>(count));
  std::vector<std::pair<int, int>> each(x.lengths.size());
  each[place - 1] = {static_cast<int>(first), static_cast<int>(length - first - count)};
  return padded(to, x, each, true);
}

void split(trace& to, onnx_node const& node) {
  auto const x = to.tensor(node, 0);
  int const axis = axis_of(node.integer("axis", 0), x.rank);
  auto const place = std::find(x.order.begin(), x.order.end(), axis);
  if (place == x.order.end() || place == x.order.begin()) throw unsupported("cuts samples, or an axis of length 1");
  std::int64_t const length = x.lengths[static_cast<std::size_t>(place - x.order.begin()) - 1];
  auto const count = static_cast<std::int64_t>(node.outputs.size());
  auto const given = to.constant(node, 1);
  std::vector<std::int64_t> sizes;
  if (given) sizes = given->integers();
  std::int64_t const each = count == 0 ? 0 : (length + count - 1) / count;  // the last one may have fewer
  for (std::int64_t i = 0; !given && i < count; ++i) sizes.push_back(std::min(each, length - i * each));
  std::int64_t left = length;
  for (auto const size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (sizes.size() != node.outputs.size() || left != 0) throw unsupported("has other sizes than its input and outputs");
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); at += sizes[i++])
    if (to.is_taken(node.outputs[i])) to.set(node, part_of(to, x, axis, at, sizes[i]), i);
}

void slice(trace& to, onnx_node const& node) {
  auto const x = to.tensor(node, 0);
  if (!x.flat_order.empty() || x.fused_axis >= 0) throw unsupported("cuts a tensor that was flattened");
  auto const starts = to.required(node, 1).integers(), ends = to.required(node, 2).integers();
  auto const axes = to.constant(node, 3), steps = to.constant(node, 4);
  if (starts.size() > static_cast<std::size_t>(x.rank)) throw unsupported("has more starts than its input has axes");
  std::vector<std::pair<int, int>> each(static_cast<std::size_t>(x.rank));
  for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
    if (steps && (i >= steps->values.size() || steps->values[i] != 1))
      throw unsupported("takes steps of more than one");
    if (axes && i >= axes->values.size()) throw unsupported("has fewer axes than starts");
    int const axis = axis_of(axes ? axes->integers()[i] : static_cast<std::int64_t>(i), x.rank);
    auto const place = std::find(x.order.begin(), x.order.end(), axis);
    if (place == x.order.end() || place == x.order.begin()) throw unsupported("cuts samples, or an axis of length 1");
    std::int64_t const length = x.lengths[static_cast<std::size_t>(place - x.order.begin()) - 1];
    auto const at = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + length : index, 0, length);
    };
    each[static_cast<std::size_t>(axis)] = {static_cast<int>(at(starts[i])), static_cast<int>(length - at(ends[i]))};
  }
  auto const own = own_amounts(x, each);
  if (own.empty()) return to.set(node, x);
  auto y = x;
  if (auto const [before, after] = own.back(); before > 0 || after > 0) {
    if (before + after >= x.lengths.back()) throw unsupported("leaves nothing of its input");
    y = part_of_last(to, x, before, x.lengths.back() - before - after);
  }
  bool is_any = false;
  for (std::size_t i = 0; i + 1 < own.size(); ++i) is_any = is_any || own[i].first > 0 || own[i].second > 0;
  auto others = own;
  others.back() = {0, 0};
  to.set(node, is_any ? padded(to, y, others, true) : y);
}

/// Rows of a table by a tensor's numbers, or one step of a sequence.
void gather(trace& to, onnx_node const& node) {
  auto const axis = node.integer("axis", 0);
  if (!to.is_tensor(node, 0)) {
    auto const table = to.required(node, 0);
    if (axis != 0 || table.shape.size() != 2) throw unsupported("looks up something else than the rows of a table");
    auto const x = to.in_order(to.tensor(node, 1));
    to.set(node, to.call("Embedding", {{"input_dim", table.shape[0]}, {"output_dim", table.shape[1]}}, {x}, {table},
                         to.name_of(node, node.inputs[0])));
    return;
  }
  auto const x = to.tensor(node, 0);
  auto const index = to.required(node, 1);
  int const taken = axis_of(axis, x.rank);
  if (index.values.size() != 1 || !index.shape.empty() || x.order.size() != 3 || x.order[1] != taken ||
      !x.flat_order.empty())
    throw unsupported("takes something else than one step of a sequence");
  int const length = x.lengths[0];
  auto const given = index.integers()[0];
  auto const step_at = given < 0 ? given + length : given;
  if (step_at < 0 || step_at >= length) throw unsupported("takes a step that is not there");
  auto const at = static_cast<int>(step_at);
  auto const step = length == 1 ? x : to.call("Cropping1D", {{"cropping", {at, length - 1 - at}}}, {x});
  auto y = to.call("Reshape", {{"target_shape", {x.lengths[1]}}}, {step});
  if (at == length - 1 && length > 1) to.layer(y).config["of the last step"] = true;
  // The axis that was taken is gone.
  y.rank = x.rank - 1, y.order = {x.order[0], x.order[2]};
  for (int& each : y.order) each -= each > taken ? 1 : 0;
  to.set(node, y);
}

/// Means and largest values over all of a picture or a sequence.
onnx_converter reduction(std::string const& kind) {
  return [=](trace& to, onnx_node const& node) {
    auto x = to.tensor(node, 0);
    auto const axes = node.inputs.size() > 1 ? to.required(node, 1).integers() : node.integers("axes", {});
    std::set<int> taken;
    for (auto const axis : axes) taken.insert(axis_of(axis, x.rank));
    if (taken.contains(x.order[0])) throw unsupported("is over samples");
    std::vector<int> order{x.order[0]}, kept;
    for (std::size_t i = 1; i < x.order.size(); ++i) (taken.contains(x.order[i]) ? order : kept).push_back(x.order[i]);
    if (axes.empty() || kept.size() != 1 || order.size() < 2 || order.size() > 4)
      throw unsupported("is over other axes than those of pictures and sequences");
    order.push_back(kept[0]);
    bool is_kept = true;  // in any order, but before the channels
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
  to["Shape"] = shape_of, to["Pad"] = pad, to["Slice"] = slice, to["Split"] = split, to["Gather"] = gather;
  to["ReduceMean"] = reduction("Average"), to["ReduceMax"] = reduction("Max");
  to["Reshape"] = [](trace& t, onnx_node const& node) {
    auto wanted = t.required(node, 1);
    for (double& length : wanted.values)
      if (length == batch_marker) length = -1;
    auto integers = wanted.integers();
    if (!integers.empty() && integers[0] == -1) integers[0] = 0;
    reshape_to(t, node, integers);
  };
}

}  // namespace stagecraft::tool
