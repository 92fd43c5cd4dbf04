// SPDX-License-Identifier: BSD-3-Clause
// Nodes of older versions of their operators, written as the newest of opset 13 would say it: what were attributes are
// inputs.
#include "onnx_trace.hpp"

#include <cstring>
#include <limits>

namespace stagecraft::tool {

namespace {

class upgrade {
 public:
  explicit upgrade(onnx_graph& graph) : graph_(graph) {
    for (auto const& each : graph.constants) taken_.insert(each.name);
    for (auto const& node : graph.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
  }

  void run() {
    for (auto& node : graph_.nodes)
      if (node.domain.empty()) renew(node);
  }

 private:
  void renew(onnx_node& node) {
    auto const opset = graph_.opset;
    auto const& type = node.type;
    if (type == "Clip" && opset < 11) {
      constexpr float most = std::numeric_limits<float>::max();
      if (node.find("min") != nullptr || node.find("max") != nullptr) {
        float const least = number(node, "min", -most), largest = number(node, "max", most);
        put(node, 1, floats({}, {least})), put(node, 2, floats({}, {largest}));
      }
    } else if (type == "Dropout" && opset < 12) {
      if (node.find("ratio") != nullptr) put(node, 1, floats({}, {number(node, "ratio", 0.5F)}));
    } else if (type == "Pad" && opset < 11) {
      if (auto const* pads = list(node, "pads")) put(node, 1, whole(*pads));
      node.attributes.erase("pads");
      if (node.find("value") != nullptr) put(node, 2, floats({}, {number(node, "value", 0)}));
    } else if (type == "Slice" && opset < 10) {
      std::size_t input = 1;
      for (char const* const each : {"starts", "ends", "axes"}) {
        if (auto const* numbers = list(node, each)) put(node, input, whole(*numbers));
        node.attributes.erase(each);
        ++input;
      }
    } else if (type == "Split" && opset < 13) {
      if (auto const* sizes = list(node, "split")) put(node, 1, whole(*sizes));
      node.attributes.erase("split");
    } else if (type == "Upsample" || (type == "Resize" && opset < 11)) {
      resize(node);
    }
  }

  /// Until opset 10, the places of an input are those of the output divided by the factors.
  void resize(onnx_node& node) {
    if (auto const* scales = node.find("scales"); scales != nullptr && scales->kind == onnx_kind::reals) {
      put(node, 1, floats({static_cast<std::int64_t>(scales->reals.size())}, scales->reals));
      node.attributes.erase("scales");
    }
    if (node.inputs.size() == 2) node.inputs.insert(node.inputs.begin() + 1, "");
    node.type = "Resize";
    set_text(node, "coordinate_transformation_mode", "asymmetric");
    set_text(node, "nearest_mode", "floor");
  }

  static void set_text(onnx_node& node, std::string const& name, std::string const& text) {
    auto& value = node.attributes[name];
    value.kind = onnx_kind::text, value.text = text;
  }
  static float number(onnx_node& node, char const* name, float by_default) {
    auto const* const found = node.find(name);
    if (found == nullptr || found->kind != onnx_kind::real) return by_default;  // another kind stays, and is refused
    float const value = found->real;
    node.attributes.erase(name);
    return value;
  }
  static std::vector<std::int64_t> const* list(onnx_node const& node, char const* name) {
    auto const* const found = node.find(name);
    return found != nullptr && found->kind == onnx_kind::integers ? &found->integers : nullptr;
  }

  std::string floats(std::vector<std::int64_t> const& shape, std::vector<float> const& values) {
    return constant(element_type::float32, shape, values);
  }
  std::string whole(std::vector<std::int64_t> const& values) {
    return constant(element_type::int64, {static_cast<std::int64_t>(values.size())}, values);
  }
  template <class T>
  std::string constant(element_type type, std::vector<std::int64_t> const& shape, std::vector<T> const& values) {
    stored_tensor made;
    made.type = type, made.shape = shape;
    made.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    do made.name = "attribute " + std::to_string(next_++);
    while (!taken_.insert(made.name).second);
    graph_.constants.push_back(std::move(made));
    return graph_.constants.back().name;
  }
  static void put(onnx_node& node, std::size_t input, std::string const& name) {
    if (node.inputs.size() <= input) node.inputs.resize(input + 1);
    node.inputs[input] = name;
  }

  onnx_graph& graph_;
  std::set<std::string> taken_;
  std::size_t next_ = 0;
};

}  // namespace

void upgrade_nodes(onnx_graph& graph) {
  if (graph.opset < 13) upgrade(graph).run();
}

}  // namespace stagecraft::tool
