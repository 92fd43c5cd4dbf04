// SPDX-License-Identifier: BSD-3-Clause
// Rewrites groups of lowered nodes, as Keras 3 writes them, into nodes that are read as one layer.
#include "tensorflow/lowering.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

/// The producers and the users of tensors.
struct links {
  explicit links(onnx_graph& graph) {
    for (auto& node : graph.nodes) {
      for (auto const& output : node.outputs) givers[output] = &node;
      for (auto const& input : node.inputs) ++uses[input];
      if (node.outputs.size() != 1) continue;
      for (auto const& input : node.inputs) users[input] = &node;
    }
    for (auto const& output : graph.outputs) uses[output.name] += 2;
  }
  [[nodiscard]] onnx_node* giver(std::string const& tensor, std::string_view type) const {
    auto const found = givers.find(tensor);
    return found != givers.end() && found->second->type == type ? found->second : nullptr;
  }
  /// The only user of a tensor, if it is of this type.
  [[nodiscard]] onnx_node* user(std::string const& tensor, std::string_view type) const {
    auto const count = uses.find(tensor);
    auto const found = users.find(tensor);
    return count != uses.end() && count->second == 1 && found != users.end() && found->second->type == type
               ? found->second
               : nullptr;
  }

  std::map<std::string, onnx_node*> givers, users;
  std::map<std::string, int> uses;
};

std::string const& other(onnx_node const& node, std::string const& tensor) {
  return node.inputs[node.inputs[0] == tensor ? 1 : 0];
}

}  // namespace

/// A dense layer on more than two axes joins all axes but the last one, multiplies, and splits them again. The product
/// without these steps is the same.
void tensorflow_lowering::join_tensordots() {
  links const graph(made_);
  for (auto& product : made_.nodes) {
    if (product.type != "MatMul" || product.inputs.size() != 2) continue;
    auto const* const joins = graph.giver(product.inputs[0], "Reshape");
    auto const* const parts = graph.user(product.outputs[0], "Reshape");
    if (joins == nullptr || parts == nullptr || !constant_shape(product.inputs[1])) continue;
    auto const before = rank(joins->inputs[0]), after = rank(parts->outputs[0]);
    if (!before || !after || *before < 3 || *before != *after || rank(joins->outputs[0]) != 2) continue;
    // The last length in `parts`. Another length comes from a layer that reshapes the result of a dense layer.
    auto const* const lists = graph.giver(parts->inputs[1], "Concat");
    auto const target = known(lists == nullptr ? parts->inputs[1] : lists->inputs.back());
    // One row for each sample: the layer before may be a flattening one, and the product is the same.
    if (lists == nullptr && target && target->values.size() > 2 &&
        std::all_of(target->values.begin() + 1, target->values.end() - 1, [](double length) { return length == 1; }))
      continue;
    if (!target || target->values.empty() || target->integers().back() == constant_shape(product.inputs[1])->back())
      product.inputs[0] = joins->inputs[0];
  }
}

/// The bias of attention's heads is added after its units were divided into heads: it is moved before the division.
void tensorflow_lowering::join_biases_of_heads() {
  links const graph(made_);
  for (std::size_t i = 0; i < made_.nodes.size(); ++i) {
    auto& sum = made_.nodes[i];
    if (sum.type != "Add" || sum.inputs.size() != 2) continue;
    std::size_t const side = constant_shape(sum.inputs[0]) ? 1 : 0;
    auto* const divides = graph.giver(sum.inputs[side], "Reshape");
    auto const bias = known(sum.inputs[1 - side]);
    if (divides == nullptr || !bias || bias->shape.size() != 2 || graph.uses.at(divides->outputs[0]) != 1) continue;
    auto const* const product = graph.giver(divides->inputs[0], "MatMul");
    auto const target = known(divides->inputs[1]);
    auto const kernel = product == nullptr ? std::nullopt : constant_shape(product->inputs[1]);
    if (!target || !kernel || target->values.size() != 4 || graph.uses.at(product->outputs[0]) != 1) continue;
    auto const lengths = target->integers();
    if (lengths[2] != bias->shape[0] || lengths[3] != bias->shape[1] || lengths[2] * lengths[3] != kernel->back() ||
        rank(product->outputs[0]) != 3)
      continue;
    auto flat = *bias;
    flat.shape = {flat.shape[0] * flat.shape[1]};
    auto const between = unused_name("bias of heads");
    sum.inputs = {divides->inputs[0], constant(flat)};
    divides->inputs[0] = between;
    std::swap(sum.outputs[0], divides->outputs[0]);
    sum.outputs[0] = between;
    std::swap(sum, *divides);  // each node stands after the one that it reads
  }
}

/// Keras 3 writes a layer normalization as x * a + (beta - mean * a) with a = gamma / sqrt(variance + epsilon).
void tensorflow_lowering::join_normalizations() {
  links const graph(made_);
  auto const number = [&](std::string const& tensor) -> std::optional<double> {
    auto const value = known(tensor);
    return value && value->values.size() == 1 ? std::optional(value->values[0]) : std::nullopt;
  };
  auto const is_of_last = [&](onnx_node const& mean, int axes) {
    auto const given = mean.integers("axes", {});
    return given.size() == 1 && (given[0] == -1 || given[0] == axes - 1) && mean.integer("keepdims", 1) == 1;
  };
  for (auto& sum : made_.nodes) {
    if (sum.type != "Add" || sum.inputs.size() != 2) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      auto const* const scaled = graph.giver(sum.inputs[side], "Mul");
      auto const* const shift = graph.giver(sum.inputs[1 - side], "Add");
      if (scaled == nullptr || shift == nullptr) continue;
      std::size_t const x_side = graph.giver(scaled->inputs[1], "Mul") != nullptr ? 0 : 1;
      auto const& x = scaled->inputs[x_side];
      auto const& factor = scaled->inputs[1 - x_side];
      auto const* const a = graph.giver(factor, "Mul");
      if (a == nullptr) continue;
      std::size_t const gamma = constant_shape(a->inputs[1]) ? 1 : 0;
      auto const* const inverse = graph.giver(a->inputs[1 - gamma], "Reciprocal");
      auto const* const root = inverse == nullptr ? nullptr : graph.giver(inverse->inputs[0], "Sqrt");
      auto const* const more = root == nullptr ? nullptr : graph.giver(root->inputs[0], "Add");
      std::size_t const beta = constant_shape(shift->inputs[1]) ? 1 : 0;
      auto const* const moved = graph.giver(shift->inputs[1 - beta], "Mul");
      if (more == nullptr || moved == nullptr || !constant_shape(shift->inputs[beta]) ||
          !constant_shape(a->inputs[gamma]))
        continue;
      auto const* const negative = graph.giver(other(*moved, factor), "Neg");
      auto const* const mean = negative == nullptr ? nullptr : graph.giver(negative->inputs[0], "ReduceMean");
      auto const* const variance = graph.giver(more->inputs[number(more->inputs[1]) ? 0 : 1], "ReduceMean");
      auto const epsilon = number(more->inputs[number(more->inputs[1]) ? 1 : 0]);
      auto const axes = rank(x);
      if (mean == nullptr || variance == nullptr || !epsilon || !axes || mean->inputs[0] != x ||
          !is_of_last(*mean, *axes) || !is_of_last(*variance, *axes) ||
          std::find(moved->inputs.begin(), moved->inputs.end(), factor) == moved->inputs.end())
        continue;
      auto const* const square = graph.giver(variance->inputs[0], "Mul");
      auto const* const centred = square == nullptr ? nullptr : graph.giver(square->inputs[0], "Sub");
      if (centred == nullptr || square->inputs[0] != square->inputs[1] || centred->inputs[0] != x ||
          centred->inputs[1] != mean->outputs[0])
        continue;
      auto const gamma_shape = *constant_shape(a->inputs[gamma]), beta_shape = *constant_shape(shift->inputs[beta]);
      auto const is_last_only = [](std::vector<std::int64_t> const& shape) {
        return !shape.empty() && std::all_of(shape.begin(), shape.end() - 1, [](auto length) { return length == 1; });
      };
      if (!is_last_only(gamma_shape) || !is_last_only(beta_shape) || gamma_shape.back() != beta_shape.back()) continue;
      std::vector<std::string> names;
      bool is_one_group = true;
      for (auto const* each :
           {scaled, shift, a, inverse, root, more, moved, negative, mean, variance, square, centred}) {
        if (std::find(names.begin(), names.end(), each->name) == names.end()) names.push_back(each->name);
        is_one_group = is_one_group && (!group_of_ || group_of_(each->name) == group_of_(sum.name));
      }
      if (!is_one_group) continue;
      sum.joined_names = std::move(names);
      sum.inputs = {x, a->inputs[gamma], shift->inputs[beta]};
      sum.type = "LayerNormalization";
      sum.attributes.clear();
      sum.attributes.insert_or_assign("axis", integer_attribute(-1));
      sum.attributes.insert_or_assign("epsilon", real_attribute(static_cast<float>(*epsilon)));
      break;
    }
  }
}

}  // namespace stagecraft::tool
