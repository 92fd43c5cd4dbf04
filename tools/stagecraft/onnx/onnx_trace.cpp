// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_trace.hpp"
#include "onnx_folding.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

shape shape_of(std::vector<int> const& lengths) {
  shape result;
  for (int const length : lengths) result.push_back(length);
  return result;
}

}  // namespace

std::string clean_name(std::string const& name) {
  std::string result;
  for (char const c : name) {
    bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += is_letter ? c : '_';
  }
  while (result.starts_with("_")) result.erase(0, 1);
  return result.substr(0, fixed_name::capacity);
}

int axis_of(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw unsupported("has an axis that its input has not");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool is_countable(std::vector<int> const& lengths) {
  std::int64_t count = 1;
  for (int const length : lengths)
    if (length < 0 || (count *= std::max(length, 1)) > (1 << 30)) return false;
  return true;
}

std::optional<element_kind> element_kind_of(std::int64_t type) {
  if (type == 1 || type == 10 || type == 11 || type == 16) return element_kind::real;
  if (type == 9) return element_kind::truth;
  if ((type >= 2 && type <= 7) || type == 12 || type == 13) return element_kind::whole;
  return std::nullopt;
}

bool traced_tensor::is_in_order() const {
  return std::is_sorted(order.begin(), order.end()) && flat_order.empty() && fused_axis < 0;
}

onnx_trace::onnx_trace(onnx_graph const& graph, std::string const& file, import_options const& options,
                       bool is_one_sample)
    : graph_(graph), file_(file), options_(options), constants_(graph), is_one_sample_(is_one_sample) {
  for (auto const& node : graph.nodes)
    for (auto const& input : node.inputs)
      if (!input.empty()) users_[input].push_back(&node);
  for (auto const& output : graph.outputs) given_.insert(output.name);
  add_types(graph);
  for (auto const& each : graph.constants) weight_budget_ += 4 * static_cast<std::size_t>(each.size());
  for (auto const& node : graph.nodes)
    if (node.type == "Constant") weight_budget_ += 4 * elements_of(node);
}

void onnx_trace::wrong(std::string const& what) const { io::refuse("E5063", file_, what); }

traced_tensor const& onnx_trace::tensor(onnx_node const& node, std::size_t input) {
  auto const& found = joined_tensor(node, input);
  if (found.joined_axis < 0) return found;
  auto const apart = of_one_head(found);
  if (apart.joined_axis >= 0) throw unsupported("joins samples with another axis");
  // The name may be that of a tensor outside of a loop whose layers are taken back.
  return tensors_[loop_depth_ > 0 ? "made " + std::to_string(made_++) : node.inputs[input]] = apart;
}

traced_tensor onnx_trace::of_one_head(traced_tensor const& x) {
  std::vector<int> const heads_first{0, 2, 1, 3}, turned{0, 3, 1, 2};  // (samples, steps, heads, width) in the graph
  if (x.joined_axis != 0 || x.lengths.size() != 3 || x.lengths[1] != 1 || (x.order != heads_first && x.order != turned))
    return x;
  auto y = call("Reshape", {{"target_shape", {x.lengths[0], x.lengths[2]}}}, {x});
  y.is_nonnegative = x.is_nonnegative;
  if (x.order == turned) y.order = {0, 2, 1};
  return y;
}

traced_tensor const& onnx_trace::joined_tensor(onnx_node const& node, std::size_t input) const {
  if (input >= node.inputs.size() || node.inputs[input].empty())
    throw unsupported("lacks input " + std::to_string(input));
  auto const& name = node.inputs[input];
  if (unknown_.contains(name)) throw unknown_input();
  if (auto const found = tensors_.find(name); found != tensors_.end()) return found->second;
  if (constants_.contains(name)) throw unsupported("takes the constant '" + name + "' where a tensor is expected");
  wrong("node '" + node.name + "' (" + node.type + ") takes '" + name + "', which no node before it gives");
}

bool onnx_trace::is_tensor(onnx_node const& node, std::size_t input) const {
  return input < node.inputs.size() && !node.inputs[input].empty() && !constants_.contains(node.inputs[input]);
}

std::optional<onnx_constant> onnx_trace::constant(onnx_node const& node, std::size_t input) const {
  auto found = lengths(node, input);
  if (found && std::any_of(found->values.begin(), found->values.end(), counts_samples))
    throw unsupported("computes with the number of samples, which is not known when the model is written");
  return found;
}

std::optional<onnx_constant> onnx_trace::lengths(onnx_node const& node, std::size_t input) const {
  if (input >= node.inputs.size() || node.inputs[input].empty()) return std::nullopt;
  auto const& name = node.inputs[input];
  if (unknown_.contains(name)) throw unknown_input();
  auto found = constants_.find(name);
  if (!found) throw unsupported("takes '" + name + "', which is no constant");
  return found;
}

onnx_constant onnx_trace::required(onnx_node const& node, std::size_t input) const {
  auto found = constant(node, input);
  if (!found) throw unsupported("lacks input " + std::to_string(input));
  return std::move(*found);
}

void onnx_trace::set(onnx_node const& node, traced_tensor const& tensor, std::size_t output) {
  if (output < node.outputs.size() && !node.outputs[output].empty())
    tensors_.insert_or_assign(node.outputs[output], tensor);
}

onnx_node const* onnx_trace::only_user(std::string const& tensor) const {
  auto const found = users_.find(tensor);
  return found == users_.end() || found->second.size() != 1 || given_.contains(tensor) ? nullptr : found->second[0];
}

traced_tensor onnx_trace::call(std::string const& class_name, json const& config,
                               std::vector<traced_tensor> const& inputs, std::vector<onnx_constant> const& weights,
                               std::string const& name) {
  traced_layer made{class_name, name, config};
  std::vector<shape> shapes;
  for (auto const& each : inputs) {
    made.inputs.push_back(each.layer);
    shapes.push_back(shape_of(each.lengths));
  }
  auto const layer = make_layer({class_name, made.config, static_cast<int>(inputs.at(0).lengths.size()) + 1});
  auto const rules = layer->rules(shapes, name.empty() ? class_name : name);
  if (rules.weights.size() != weights.size())
    throw unsupported("has " + std::to_string(weights.size()) + " weights, expected " +
                      std::to_string(rules.weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].shape != rules.weights[i].shape)
      throw unsupported("has " + rules.weights[i].name + " of the shape " + io::shape_text(weights[i].shape) +
                        ", expected " + io::shape_text(rules.weights[i].shape));
    if (weights[i].values.size() > weight_budget_) wrong("its weights are used by too many nodes");
    weight_budget_ -= weights[i].values.size();
    made.weights.push_back(
        {rules.weights[i].name, weights[i].shape, {weights[i].values.begin(), weights[i].values.end()}});
  }
  if (std::any_of(inputs.begin(), inputs.end(), [&](traced_tensor const& each) { return is_word(each); })) {
    static std::set<std::string> const moves{"Concatenate", "Cropping1D", "Cropping2D", "Cropping3D",
                                             "Flatten",     "Permute",    "Reshape"};
    made.is_word = moves.contains(class_name);
    if (!made.is_word && class_name != "Embedding") throw unsupported("computes with whole numbers as floats");
  }
  for (int const length : rules.output) made.lengths.push_back(length);
  if (!is_countable(made.lengths)) throw unsupported("gives more than 2^30 elements");
  layers_.push_back(std::move(made));
  // Where the graph has no samples, the first axis here is none of the graph's.
  bool const has_samples = inputs.at(0).order.empty() || inputs[0].order[0] != no_axis;
  traced_tensor result{static_cast<int>(layers_.size()) - 1,
                       static_cast<int>(rules.output.rank()) + (has_samples ? 1 : 0)};
  result.lengths = layers_.back().lengths;
  result.order.resize(result.lengths.size() + 1);
  std::iota(result.order.begin(), result.order.end(), has_samples ? 0 : no_axis);
  return result;
}

traced_tensor onnx_trace::hold(traced_layer step) {
  traced_tensor result{static_cast<int>(layers_.size()), static_cast<int>(step.lengths.size()) + 1};
  result.lengths = step.lengths;
  layers_.push_back(std::move(step));
  return result;
}

traced_tensor onnx_trace::ordered(traced_tensor const& from, std::vector<int> const& order) {
  if (from.fused_axis >= 0) throw unsupported("takes both directions of a recurrent layer apart");
  if (from.order == order && from.flat_order.empty()) return from;
  if (order.empty() || from.order.empty() || (!is_one_sample_ && order[0] != from.order[0]))
    throw unsupported("moves the axis of samples, which is the first here");
  auto now = from;
  if (order[0] != from.order[0]) {  // the axis of samples is 1 long here, and stands for any axis of that length
    for (std::size_t i = 1; i < now.order.size(); ++i) {
      if (now.order[i] != order[0]) continue;
      if (now.lengths[i - 1] != 1) throw unsupported("is of several samples in a graph that has none");
      now.order[i] = unit_axis;
    }
    now.order[0] = order[0];
    if (now.order == order) return now;
  }
  if (!from.flat_order.empty()) {  // undoes the flattening, and flattens in the graph's order
    auto picture = call("Reshape", {{"target_shape", from.flat_lengths}}, {from});
    picture.order = from.flat_order;
    std::vector<int> sorted = from.flat_order;
    std::sort(sorted.begin(), sorted.end());
    now = call("Flatten", json::object(), {ordered(picture, sorted)});
    now.rank = from.rank, now.order = from.order;
  }
  std::vector<int> missing;
  for (int const axis : order)
    if (std::find(now.order.begin(), now.order.end(), axis) == now.order.end()) missing.push_back(axis);
  if (!missing.empty()) {  // axes of length 1
    std::vector<int> lengths, axes{now.order[0]};
    // If the other axes are in order, the new ones are inserted at their places.
    std::vector<int> rest;
    for (int const axis : order)
      if (std::find(missing.begin(), missing.end(), axis) == missing.end()) rest.push_back(axis);
    bool const fits = rest == now.order;
    std::vector<int> const wanted = fits ? order : [&] {
      auto all = now.order;
      all.insert(all.end(), missing.begin(), missing.end());
      return all;
    }();
    for (std::size_t i = 1; i < wanted.size(); ++i) {
      auto const at = std::find(now.order.begin(), now.order.end(), wanted[i]) - now.order.begin();
      bool const is_there = at < static_cast<std::ptrdiff_t>(now.order.size());
      lengths.push_back(is_there ? now.lengths[static_cast<std::size_t>(at) - 1] : 1);
    }
    auto const before = now;
    now = call("Reshape", {{"target_shape", lengths}}, {before});
    now.rank = before.rank, now.order = wanted, now.is_nonnegative = before.is_nonnegative;
  }
  if (now.order.size() != order.size()) {  // surplus axes of length 1
    std::vector<int> lengths, kept{now.order[0]};
    for (std::size_t i = 1; i < now.order.size(); ++i) {
      bool const stays = std::find(order.begin(), order.end(), now.order[i]) != order.end();
      if (!stays && now.lengths[i - 1] != 1) throw unsupported("has axes that are not expected");
      if (!stays) continue;
      kept.push_back(now.order[i]);
      lengths.push_back(now.lengths[i - 1]);
    }
    auto const before = now;
    now = call("Reshape", {{"target_shape", lengths}}, {before});
    now.rank = before.rank, now.order = kept, now.is_nonnegative = before.is_nonnegative;
  }
  if (now.order == order) return now;
  std::vector<int> dims;
  for (std::size_t i = 1; i < order.size(); ++i)
    dims.push_back(static_cast<int>(std::find(now.order.begin(), now.order.end(), order[i]) - now.order.begin()));
  auto result = call("Permute", {{"dims", dims}}, {now});
  result.rank = from.rank, result.order = order, result.is_nonnegative = from.is_nonnegative;
  return result;
}

traced_tensor onnx_trace::in_order(traced_tensor const& from) {
  std::vector<int> order(static_cast<std::size_t>(from.rank));
  std::iota(order.begin(), order.end(), 0);
  return ordered(from, order);
}

traced_tensor onnx_trace::channels_last(traced_tensor const& from) {
  std::vector<int> order{0};
  for (int i = 2; i < from.rank; ++i) order.push_back(i);
  order.push_back(1);
  return ordered(from, order);
}

traced_tensor onnx_trace::scaled(traced_tensor const& from, std::vector<float> const& factors,
                                 std::vector<float> const& summands) {
  auto result = from;
  result.is_nonnegative = false;
  auto const size = std::max(factors.size(), summands.size());
  auto const at = [](std::vector<float> const& list, std::size_t i) { return list.size() == 1 ? list[0] : list[i]; };
  traced_layer made{"", "", json::object(), {from.layer}, {}, from.lengths, true, {}, {}};
  for (std::size_t i = 0; i < size; ++i) {
    made.factors.push_back(at(factors, i));
    made.summands.push_back(at(summands, i));
  }
  layers_.push_back(std::move(made));
  result.layer = static_cast<int>(layers_.size()) - 1;
  return result;
}

std::string onnx_trace::name_of(onnx_node const& node, std::string const& weight) const {
  if (graph_.producer == "stagecraft") return clean_name(node.name);
  for (std::string_view const ending : {".weight", "/kernel"})
    if (weight.ends_with(ending)) return clean_name(weight.substr(0, weight.size() - ending.size()));
  // "/layer1/layer1.0/conv1/Conv" of PyTorch, "model/conv1/Conv2D" of tf2onnx, "Conv_12" of older ones.
  auto const last = node.name.rfind('/');
  if (last == std::string::npos) return node.name.starts_with(node.type) ? "" : clean_name(node.name);
  std::string result;
  std::string previous;
  for (std::size_t at = 0; at < last;) {
    auto const end = std::min(node.name.find('/', at), last);
    auto const part = node.name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || (part == "Tensordot" && graph_.producer == "tensorflow")) continue;
    if (!previous.empty() && !part.starts_with(previous + ".")) result += previous + "_";
    previous = part;
  }
  if (graph_.producer != "pytorch") result.clear();
  return clean_name(result + previous);
}

}  // namespace stagecraft::tool
