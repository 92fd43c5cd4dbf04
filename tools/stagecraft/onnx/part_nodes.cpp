// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that take parts of tensors, or put zeros around them.
#include "onnx_trace.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// Adds zeros around a picture or a sequence, or cuts it: [before, after] for each of a tensor's own axes but the
/// first.
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

/// Amounts for a tensor's own axes from those for the graph's; an axis that the tensor does not have must have none.
std::vector<std::pair<int, int>> own_amounts(traced_tensor const& x, std::vector<std::pair<int, int>> const& given) {
  std::vector<std::pair<int, int>> result;
  int total = 0, own = 0;
  for (auto const& [before, after] : given) total += before + after;
  for (std::size_t i = 0; i < x.order.size(); ++i) {
    auto const amount = x.order[i] < 0 ? std::pair(0, 0) : given[static_cast<std::size_t>(x.order[i])];
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

/// Takes `count` elements of a tensor's last axis, from `first` on. The output of a dense layer is divided by its
/// units.
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
    // Layers would have to turn a sequence or a picture twice: an operation copies the part alone.
    if (rank > 1) throw unsupported("takes a part of the channels");
    y = to.call("Reshape", {{"target_shape", json::array({length, 1})}}, {x});
    y = to.call("Cropping1D", {{"cropping", json::array({first, length - first - count})}}, {y});
    y = to.call("Reshape", {{"target_shape", json::array({count})}}, {y});
  }
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
  return y;
}

/// Takes `count` elements along one of the graph's axes, from `first` on.
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
  if (node.integer("num_outputs", count) != count) throw unsupported("has another number of outputs than it says");
  std::vector<std::int64_t> sizes;
  if (given) sizes = given->integers();
  std::int64_t const each = count == 0 ? 0 : (length + count - 1) / count;  // the last part may be shorter
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

/// Takes one of the parts into which the units of a dense layer were divided: queries, keys or values, as in PyTorch 2.
bool take_units(trace& to, onnx_node const& node, traced_tensor const& x, int taken, onnx_constant const& index) {
  auto const own = x.order.size();
  auto const& shaped = to.layer_at(x.layer);
  if (shaped.class_name != "Reshape" || own < 3 || x.order[own - 2] != taken || index.values.size() != 1 ||
      !index.shape.empty() || !x.flat_order.empty() || x.fused_axis >= 0)
    return false;
  int const dense = shaped.inputs[0], parts = x.lengths[own - 3], width = x.lengths.back();
  auto const& below = to.layer_at(dense);
  std::vector<int> divided(x.lengths.begin(), x.lengths.end() - 2);
  divided.push_back(parts * width);
  if (below.class_name != "Dense" || below.lengths != divided) return false;
  auto const given = index.integers()[0];
  auto const at = given < 0 ? given + parts : given;
  if (at < 0 || at >= parts) throw unsupported("takes a part that is not there");
  traced_tensor units{dense, static_cast<int>(own) - 1, {}, below.lengths};
  for (int i = 0; i + 1 < static_cast<int>(own); ++i) units.order.push_back(i);
  auto y = part_of_last(to, units, static_cast<int>(at) * width, width);
  y.rank = x.rank - 1, y.order = x.order;
  y.order.erase(y.order.end() - 2);
  for (int& each : y.order) each -= each > taken ? 1 : 0;
  to.set(node, y);
  return true;
}

/// Converts Gather: rows of a table by a tensor's numbers, or one step of a sequence.
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
  if (take_units(to, node, x, taken, index)) return;
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
  // The axis of the taken element is removed.
  y.rank = x.rank - 1, y.order = {x.order[0], x.order[2]};
  for (int& each : y.order) each -= each > taken ? 1 : 0;
  to.set(node, y);
}

}  // namespace

void add_part_converters(std::map<std::string, onnx_converter>& to) {
  to["Pad"] = pad, to["Slice"] = slice, to["Split"] = split, to["Gather"] = gather;
}

}  // namespace stagecraft::tool
