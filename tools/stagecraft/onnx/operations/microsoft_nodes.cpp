// SPDX-License-Identifier: BSD-3-Clause
// Converts operators of onnxruntime's own domain, com.microsoft, which its optimizer writes, as the nodes of ONNX that
// they stand for.
#include "onnx/operator_table.hpp"
#include "operation_nodes.hpp"

#include <numeric>

namespace stagecraft::tool {

namespace {

constexpr char const* domain = "com.microsoft";

class expansion {
 public:
  explicit expansion(onnx_graph& graph) : graph_(graph) {
    for (auto const& each : graph.constants) taken_.insert(each.name);
    for (auto const& each : graph.inputs) taken_.insert(each.name);
    for (auto const& node : graph.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
  }

  void run() {
    auto const given = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto const& node : given) {
      bool const is_own = node.domain == domain || (node.domain.empty() && node.type.starts_with("Simplified"));
      if (is_own && !unread_part(node) && !node.outputs.empty() && expand(node)) continue;
      graph_.nodes.push_back(node);
    }
  }

 private:
  /// Adds the nodes that a node stands for. Returns false if it has none.
  bool expand(onnx_node const& node) {
    auto const& type = node.type;
    auto const has = [&](std::size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); };
    if (!has(0)) return false;
    auto x = node.inputs[0];
    if (type == "Gelu" || type == "FastGelu" || type == "BiasGelu") {
      if (has(1)) x = add(node, "Add", {x, node.inputs[1]});
      auto& made = last(node, "Gelu", {x});
      if (type == "FastGelu") {
        auto& kind = made.attributes["approximate"];
        kind.kind = onnx_kind::text, kind.text = "tanh";
      }
      return true;
    }
    if (type == "QuickGelu") {
      set_real(last(node, "Swish", {x}), "alpha", node.real("alpha", 1.702F));
      return true;
    }
    bool const is_simple = type.find("Simplified") != std::string::npos;
    if (type.starts_with("Skip") && has(1) && has(2)) {
      x = add(node, "Add", {x, node.inputs[1]});
      std::size_t const bias = is_simple ? 3 : 4;
      if (has(bias)) x = add(node, "Add", {x, node.inputs[bias]});
      if (node.outputs.size() > 3 && !node.outputs[3].empty()) {
        onnx_node sum;
        sum.type = "Identity", sum.inputs = {x}, sum.outputs = {node.outputs[3]};
        graph_.nodes.push_back(std::move(sum));
      }
      std::vector<std::string> inputs{x, node.inputs[2]};
      if (!is_simple && has(3)) inputs.push_back(node.inputs[3]);
      auto& made = last(node, is_simple ? "RMSNormalization" : "LayerNormalization", inputs);
      set_real(made, "epsilon", node.real("epsilon", 1e-12F));
      return true;
    }
    if (type == "SimplifiedLayerNormalization" && has(1)) {
      auto& made = last(node, "RMSNormalization", {x, node.inputs[1]});
      made.attributes = node.attributes;
      return true;
    }
    return false;
  }

  static void set_real(onnx_node& node, char const* name, float value) {
    auto& made = node.attributes[name];
    made.kind = onnx_kind::real, made.real = value;
  }
  std::string add(onnx_node const& of, char const* type, std::vector<std::string> inputs) {
    onnx_node made;
    made.type = type, made.inputs = std::move(inputs), made.name = of.name;
    std::string name;
    do name = "part " + std::to_string(next_++) + " of " + of.outputs[0];
    while (!taken_.insert(name).second);
    made.outputs = {name};
    graph_.nodes.push_back(std::move(made));
    return name;
  }
  onnx_node& last(onnx_node const& of, char const* type, std::vector<std::string> inputs) {
    onnx_node made;
    made.type = type, made.inputs = std::move(inputs), made.name = of.name, made.outputs = {of.outputs[0]};
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back();
  }

  onnx_graph& graph_;
  std::set<std::string> taken_;
  std::size_t next_ = 0;
};

int rank_of(onnx_trace& to, onnx_node const& node, std::size_t input) {
  return to.is_tensor(node, input) ? to.tensor(node, input).rank
                                   : static_cast<int>(to.required(node, input).shape.size());
}

/// An input of a product with its last two axes exchanged.
std::string turned(onnx_trace& to, onnx_node const& node, std::size_t input) {
  int const rank = rank_of(to, node, input);
  if (rank < 2) throw unsupported("turns an input without two axes");
  onnx_node made;
  made.type = "Transpose", made.inputs = {node.inputs[input]};
  auto& perm = made.attributes["perm"];
  perm.kind = onnx_kind::integers, perm.integers.resize(static_cast<std::size_t>(rank));
  std::iota(perm.integers.begin(), perm.integers.end(), 0);
  std::swap(perm.integers[perm.integers.size() - 1], perm.integers[perm.integers.size() - 2]);
  return to.convert_made(std::move(made));
}

std::string made_of_two(onnx_trace& to, onnx_node const& of, char const* type, std::string const& a,
                        std::string const& b) {
  onnx_node made;
  made.type = type, made.name = of.name, made.inputs = {a, b};
  return to.convert_made(std::move(made));
}

std::string scaled(onnx_trace& to, onnx_node const& of, std::string const& x, float factor) {
  return factor == 1 ? x : made_of_two(to, of, "Mul", x, to.add_constant({{}, {static_cast<double>(factor)}, false}));
}

/// alpha a b + beta c; the last two axes of a and b may be exchanged.
void product(onnx_trace& to, onnx_node const& node) {
  if (node.inputs.size() < 2) throw unsupported("lacks inputs");
  auto const a = node.integer("transA", 0) != 0 ? turned(to, node, 0) : node.inputs[0];
  auto const b = node.integer("transB", 0) != 0 ? turned(to, node, 1) : node.inputs[1];
  auto y = scaled(to, node, made_of_two(to, node, "MatMul", a, b), node.real("alpha", 1));
  if (node.inputs.size() > 2 && !node.inputs[2].empty())
    y = made_of_two(to, node, "Add", y, scaled(to, node, node.inputs[2], node.real("beta", 1)));
  to.set_alias(node, y, 0);
}

}  // namespace

void expand_microsoft_nodes(onnx_graph& graph) { expansion(graph).run(); }

void add_microsoft_converters(std::map<std::string, onnx_converter>& to) {
  to["FusedMatMul"] = product;
  to["Gemm"] = either(to.at("Gemm"), product);
}

}  // namespace stagecraft::tool
