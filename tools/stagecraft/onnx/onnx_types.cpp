// SPDX-License-Identifier: BSD-3-Clause
// The types of elements of an ONNX graph's tensors, as ONNX numbers them: they follow from those of the inputs.
#include "onnx_folding.hpp"
#include "onnx_trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace stagecraft::tool {

namespace {

constexpr int float32 = 1, uint8 = 2, int32 = 6, int64 = 7, boolean = 9;

template <std::size_t Count>
bool is_among(std::string const& type, std::array<std::string_view, Count> const& names) {
  return std::find(names.begin(), names.end(), type) != names.end();
}

constexpr std::array<std::string_view, 11> of_truths{
    "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor"};
constexpr std::array<std::string_view, 5> of_places{"ArgMax", "ArgMin", "NonZero", "Shape", "Size"};
int type_of_value(onnx_node const& node, int by_default) {
  auto const* const value = node.find("value");
  return value != nullptr && value->tensor ? number_of(value->tensor->type) : by_default;
}

}  // namespace

int number_of(element_type type) {
  for (int number = 1; number <= 16; ++number)
    if (stored_type_of(number) == type) return number;
  return 0;
}

int onnx_trace::type_of(std::string const& name) const {
  auto const found = types_.find(name);
  return found == types_.end() ? 0 : found->second;
}

char const* half_name(int type) {
  constexpr int float16 = 10, bfloat16 = 16;
  return type == float16 ? "float16" : type == bfloat16 ? "bfloat16" : nullptr;
}

/// Says that the layers from `first` on compute in a node's type, if that has 16 bits. A layer takes its inputs in this
/// type, too, so a node that takes whole numbers, such as places, computes in float32, and so does a layer with
/// constant places that the type cannot say. Nodes that contain others have left it to these.
void onnx_trace::set_halves(onnx_node const& node, std::size_t first) {
  if (node.type == "If" || node.type == "Loop" || node.type == "Scan") return;
  int const type = node.outputs.empty() ? 0 : type_of(node.outputs[0]);
  if (half_name(type) == nullptr) return;
  for (auto const& each : node.inputs)
    if (node.type != "Cast" && !constants_.contains(each) && element_kind_of(type_of(each)) == element_kind::whole)
      return;
  constexpr int float16 = 10;
  double const most_exact = type == float16 ? 2048 : 256;
  auto const is_rounded = [&](onnx_constant const& of) {
    return of.is_whole &&
           std::any_of(of.values.begin(), of.values.end(), [&](double value) { return std::abs(value) > most_exact; });
  };
  for (; first < layers_.size(); ++first) {
    auto& layer = layers_[first];
    if (layer.half != 0 || layer.is_word || layer.class_name == "Embedding") continue;
    if (layer.operation &&
        std::any_of(layer.operation->constants.begin(), layer.operation->constants.end(), is_rounded))
      continue;
    layer.half = type;
  }
}

/// Gives layers of 16 bits their type, but for those that only move numbers.
void onnx_trace::name_halves() {
  static std::set<std::string> const moves{
      "Concatenate",   "Cropping1D",    "Cropping2D",    "Cropping3D",         "Dropout",
      "Flatten",       "InputLayer",    "Permute",       "RepeatVector",       "Reshape",
      "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "GlobalMaxPooling1D", "GlobalMaxPooling2D",
      "MaxPooling1D",  "MaxPooling2D",  "MaxPooling3D"};
  for (auto& each : layers_)
    if (auto const* const name = half_name(each.half); name != nullptr && !moves.contains(each.class_name))
      each.config["dtype"] = name;
}

void onnx_trace::add_types(onnx_graph const& graph) {
  for (auto const& each : graph.constants) types_.insert_or_assign(each.name, number_of(each.type));
}

void onnx_trace::find_types(onnx_node const& node) {
  auto const& type = node.type;
  auto const of_input = [&](std::size_t i) { return i < node.inputs.size() ? type_of(node.inputs[i]) : 0; };
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    int found = of_input(0);
    if (type == "Cast") found = static_cast<int>(std::clamp<std::int64_t>(node.integer("to", float32), 0, 1000));
    if (type == "CastLike" || type == "Where") found = of_input(1);
    if (type == "OneHot") found = of_input(2);
    if (type == "EyeLike" && node.find("dtype") != nullptr)
      found = static_cast<int>(std::clamp<std::int64_t>(node.integer("dtype", float32), 0, 1000));
    if (type == "Constant")
      found = type_of_value(node,
                            node.find("value_int") != nullptr || node.find("value_ints") != nullptr ? int64 : float32);
    if (type == "DequantizeLinear") found = of_input(1);
    if (type == "QuantizeLinear") {
      auto const given = static_cast<int>(std::clamp<std::int64_t>(node.integer("output_dtype", 0), 0, 1000));
      found = given != 0 ? given : of_input(2) != 0 ? of_input(2) : uint8;
    }
    if (type == "DynamicQuantizeLinear") found = i == 1 ? float32 : uint8;
    if (type == "MatMulInteger" || type == "ConvInteger") found = int32;
    if (type == "QLinearMatMul" || type == "QLinearConv") found = of_input(7);
    if (type == "BitCast") found = static_cast<int>(std::clamp<std::int64_t>(node.integer("to", float32), 0, 1000));
    if (type.ends_with("Window") || type == "TfIdfVectorizer") found = float32;
    if (type == "ConstantOfShape") found = type_of_value(node, float32);
    if (is_among(type, of_truths) || (type == "Dropout" && i == 1)) found = boolean;
    if (is_among(type, of_places) || (i == 1 && (type == "TopK" || type == "MaxPool"))) found = int64;
    if (!node.outputs[i].empty()) types_.insert_or_assign(node.outputs[i], found);
  }
}

/// True if the type of computed constants has their whole numbers: ONNX's wrap otherwise.
bool onnx_trace::is_in_range(onnx_node const& node) const {
  for (auto const& each : node.outputs) {
    auto const range = range_of_type(type_of(each));
    auto const found = range.is_within(-0x1p31, 0x1p32) ? constants_.find(each) : std::nullopt;
    if (found && std::any_of(found->values.begin(), found->values.end(), [&](double value) {
          return !is_of_samples(value) && (value < range.least || value > range.most);
        }))
      return false;
  }
  return true;
}

void onnx_trace::set_kinds(onnx_node const& node) {
  for (auto const& each : node.outputs) {
    auto const found = tensors_.find(each);
    if (found == tensors_.end() || type_of(each) == 0) continue;
    if (auto const kind = element_kind_of(type_of(each))) found->second.elements = *kind;
  }
}

}  // namespace stagecraft::tool
