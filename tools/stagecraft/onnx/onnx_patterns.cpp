// SPDX-License-Identifier: BSD-3-Clause
#include "onnx/operator_table.hpp"
#include "onnx_trace.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

/// The producer and the users of each tensor of a graph.
class onnx_links {
 public:
  explicit onnx_links(onnx_graph const& graph) : constants_(graph) {
    for (auto const& node : graph.nodes) {
      if (node.type == "Constant" || node.type == "Cast" || node.type == "Identity") constants_.fold(node);
      for (auto const& output : node.outputs) givers_[output] = &node;
      for (auto const& input : node.inputs) users_[input].push_back(&node);
    }
    for (auto const& output : graph.outputs) users_[output.name].push_back(nullptr);
  }

  /// Returns the node that computes a node's input, if it is of this type.
  [[nodiscard]] onnx_node const* giver(onnx_node const& of, std::size_t input, std::string_view type) const {
    if (input >= of.inputs.size()) return nullptr;
    auto const found = givers_.find(of.inputs[input]);
    return found != givers_.end() && found->second->type == type && !unread_part(*found->second) ? found->second
                                                                                                 : nullptr;
  }
  /// Returns the only user of a node's output, if it is of this type.
  [[nodiscard]] onnx_node const* user(onnx_node const& of, std::string_view type) const {
    auto const found = of.outputs.empty() ? users_.end() : users_.find(of.outputs[0]);
    if (found == users_.end() || found->second.size() != 1 || found->second[0] == nullptr) return nullptr;
    auto const* const node = found->second[0];
    return node->type == type && !unread_part(*node) ? node : nullptr;
  }
  /// The names of the nodes that compute a node's input from some tensors, and its own; empty if their groups differ.
  [[nodiscard]] std::vector<std::string> names_between(onnx_node const& last, std::vector<std::string> const& inputs,
                                                       std::function<int(std::string const&)> const& group_of) const {
    std::set<onnx_node const*> seen{&last};
    std::vector<onnx_node const*> queue{&last};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (auto const& input : queue[i]->inputs) {
        auto const found = givers_.find(input);
        if (found == givers_.end() || constants_.contains(input) ||
            std::find(inputs.begin(), inputs.end(), input) != inputs.end())
          continue;
        if (seen.insert(found->second).second) queue.push_back(found->second);
      }
    std::vector<std::string> names;
    for (auto const* node : queue) {
      if (group_of && group_of(node->name) != group_of(last.name)) return {};
      names.push_back(node->name);
    }
    return names;
  }
  /// True for a constant with several numbers, all of which are along its last axis.
  [[nodiscard]] bool is_row(std::string const& name) const {
    if (constants_.size(name) < 2) return false;
    auto const shape = constants_.find(name)->shape;
    return shape.back() == static_cast<std::int64_t>(constants_.size(name));
  }
  /// The number of a constant with one element.
  [[nodiscard]] std::optional<double> number(std::string const& name) const {
    if (constants_.size(name) != 1) return std::nullopt;
    return constants_.find(name)->values[0];
  }
  /// True for a constant of whole numbers.
  [[nodiscard]] bool is_whole(std::string const& name) const {
    auto const found = constants_.find(name);
    return found && found->is_whole;
  }

 private:
  onnx_constants constants_;
  std::map<std::string, onnx_node const*> givers_;
  std::map<std::string, std::vector<onnx_node const*>> users_;
};

bool is_near(std::optional<double> found, double expected) { return found && std::fabs(*found - expected) < 1e-4; }

/// True for a mean over the last axis. Axes are an attribute, or an input since opset 18.
bool is_mean_of_last(onnx_links const& links, onnx_node const& node) {
  bool const is_last = node.inputs.size() > 1 ? links.number(node.inputs[1]) == -1
                                              : node.integers("axes", {}) == std::vector<std::int64_t>{-1};
  return is_last && node.integer("keepdims", 1) == 1;
}

/// Finds (x - mean) / sqrt(mean((x - mean)^2) + epsilon), with gamma and beta after it.
std::optional<onnx_node> layer_normalization(onnx_links const& links, onnx_node const& division,
                                             onnx_node const*& last) {
  auto const* const centred = links.giver(division, 0, "Sub");
  auto const* const root = links.giver(division, 1, "Sqrt");
  if (centred == nullptr || root == nullptr || centred->inputs.size() != 2) return std::nullopt;
  auto const* const sum = links.giver(*root, 0, "Add");
  auto const* const mean = links.giver(*centred, 1, "ReduceMean");
  if (sum == nullptr || sum->inputs.size() != 2 || mean == nullptr || mean->inputs.empty() ||
      mean->inputs[0] != centred->inputs[0])
    return std::nullopt;
  auto const* variance = links.giver(*sum, 0, "ReduceMean");
  auto epsilon = links.number(sum->inputs[1]);
  if (variance == nullptr) variance = links.giver(*sum, 1, "ReduceMean"), epsilon = links.number(sum->inputs[0]);
  if (variance == nullptr || !epsilon || !is_mean_of_last(links, *mean) || !is_mean_of_last(links, *variance))
    return std::nullopt;
  auto const* const power = links.giver(*variance, 0, "Pow");
  auto const* const product = links.giver(*variance, 0, "Mul");
  auto const& of = centred->outputs.at(0);
  bool const is_square =
      (power != nullptr && power->inputs.size() == 2 && power->inputs[0] == of &&
       is_near(links.number(power->inputs[1]), 2)) ||
      (product != nullptr && product->inputs.size() == 2 && product->inputs[0] == of && product->inputs[1] == of);
  if (!is_square) return std::nullopt;
  onnx_node result;
  result.type = "LayerNormalization";
  result.name = division.name;
  result.inputs = {centred->inputs[0]};
  auto &axis = result.attributes["axis"], &added = result.attributes["epsilon"];
  axis.kind = onnx_kind::integer, axis.integer = -1;
  added.kind = onnx_kind::real, added.real = static_cast<float>(*epsilon);
  last = &division;
  // The input that is a constant with a number for each place of the last axis: a single number is no weight.
  auto const constant_of = [&](onnx_node const& node) -> std::string {
    for (auto const& input : node.inputs)
      if (links.is_row(input)) return input;
    return {};
  };
  if (auto const* const scale = links.user(division, "Mul"); scale != nullptr && !constant_of(*scale).empty()) {
    result.inputs.push_back(constant_of(*scale));
    last = scale;
    if (auto const* const shift = links.user(*scale, "Add"); shift != nullptr && !constant_of(*shift).empty()) {
      result.inputs.push_back(constant_of(*shift));
      last = shift;
    }
  }
  return result;
}

/// True for the node that limits x + 3 to [0, 6].
bool is_limited_sum(onnx_links const& links, onnx_node const& clip, std::string const& x) {
  auto const* const sum = links.giver(clip, 0, "Add");
  if (sum == nullptr || sum->inputs.size() != 2 || clip.inputs.size() != 3) return false;
  return links.number(clip.inputs[1]) == 0 && links.number(clip.inputs[2]) == 6 &&
         ((sum->inputs[0] == x && links.number(sum->inputs[1]) == 3) ||
          (sum->inputs[1] == x && links.number(sum->inputs[0]) == 3));
}

/// Finds x * sigmoid(x), x * (1 + erf(x / sqrt(2))) / 2 and x * min(max(x + 3, 0), 6) / 6, with factors in any order.
/// The product is multiplied by `constant`.
std::optional<onnx_node> activation(onnx_links const& links, onnx_node const& product, double constant = 1) {
  std::vector<std::string> factors;
  std::vector<onnx_node const*> queue{&product};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i]->inputs.size() != 2 || factors.size() > 2) return std::nullopt;
    for (std::size_t k = 0; k < 2; ++k) {
      auto const& input = queue[i]->inputs[k];
      auto const* const inner = links.giver(*queue[i], k, "Mul");
      if (auto const value = links.number(input))
        constant *= *value;
      else if (inner != nullptr && links.user(*inner, "Mul") != nullptr && queue.size() < 4)
        queue.push_back(inner);
      else
        factors.push_back(input);
    }
  }
  if (factors.size() != 2) return std::nullopt;
  onnx_node named;
  for (std::size_t k = 0; k < 2; ++k) {
    named.inputs = {factors[k]};
    auto const& x = factors[1 - k];
    auto const* const sigmoid = links.giver(named, 0, "Sigmoid");
    if (sigmoid != nullptr && sigmoid->inputs == std::vector{x} && constant == 1) {
      named.type = "Swish", named.inputs = {x};
      return named;
    }
    if (auto const* const clip = links.giver(named, 0, "Clip");
        clip != nullptr && std::fabs(constant * 6 - 1) < 1e-6 && is_limited_sum(links, *clip, x)) {
      named.type = "HardSwish", named.inputs = {x};
      return named;
    }
    auto const* const sum = links.giver(named, 0, "Add");
    if (sum == nullptr || sum->inputs.size() != 2 || !is_near(constant, 0.5)) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      auto const* const erf = links.giver(*sum, side, "Erf");
      if (erf == nullptr || !is_near(links.number(sum->inputs[1 - side]), 1)) continue;
      auto const* const by = links.giver(*erf, 0, "Div");
      auto const* const times = links.giver(*erf, 0, "Mul");
      bool const fits = (by != nullptr && by->inputs.size() == 2 && by->inputs[0] == x &&
                         is_near(links.number(by->inputs[1]), std::sqrt(2.0))) ||
                        (times != nullptr && times->inputs.size() == 2 &&
                         ((times->inputs[0] == x && is_near(links.number(times->inputs[1]), std::sqrt(0.5))) ||
                          (times->inputs[1] == x && is_near(links.number(times->inputs[0]), std::sqrt(0.5)))));
      if (!fits) continue;
      named.type = "Gelu", named.inputs = {x};
      return named;
    }
  }
  return std::nullopt;
}

/// Finds an activation whose last step is a division by a constant.
std::optional<onnx_node> divided_activation(onnx_links const& links, onnx_node const& division) {
  auto const* const product = links.giver(division, 0, "Mul");
  auto const divisor = division.inputs.size() == 2 ? links.number(division.inputs[1]) : std::nullopt;
  if (product == nullptr || !divisor || *divisor == 0 || links.user(*product, "Div") == nullptr) return std::nullopt;
  if (links.is_whole(division.inputs[1])) return std::nullopt;  // then quotients are rounded towards 0
  return activation(links, *product, 1 / *divisor);
}

/// Removes nodes whose results are not used.
void drop_unused(onnx_graph& graph) {
  std::set<std::string> needed;
  for (auto const& output : graph.outputs) needed.insert(output.name);
  std::vector<onnx_node> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    auto& node = graph.nodes[i];
    bool is_needed = false;
    for (auto const& output : node.outputs) is_needed = is_needed || needed.contains(output);
    if (!is_needed) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace

onnx_graph with_patterns(onnx_graph graph, std::function<int(std::string const&)> const& group_of) {
  {
    std::map<onnx_node const*, onnx_node> in_place_of;
    onnx_links const links(graph);
    for (auto const& node : graph.nodes) {
      if (!node.domain.empty() || node.outputs.size() != 1) continue;
      auto const* last = &node;
      if (unread_part(node)) continue;
      auto found = node.type == "Div"   ? layer_normalization(links, node, last)
                   : node.type == "Mul" ? activation(links, node)
                                        : std::nullopt;
      if (!found && node.type == "Div") found = divided_activation(links, node);
      if (!found) continue;
      found->joined_names = links.names_between(*last, found->inputs, group_of);
      if (found->joined_names.empty()) continue;
      if (found->name.empty()) found->name = last->name;
      found->outputs = last->outputs;
      in_place_of.insert_or_assign(last, std::move(*found));
    }
    for (auto& node : graph.nodes)
      if (auto const found = in_place_of.find(&node); found != in_place_of.end()) node = found->second;
  }
  drop_unused(graph);
  return graph;
}

}  // namespace stagecraft::tool
