// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_builder.hpp"

#include <stagecraft/version.hpp>
#include <cstring>
#include <protozero/pbf_writer.hpp>

namespace stagecraft::tool {

namespace {

using protozero::pbf_writer;

// ONNX's numbers for types of attributes and of elements.
constexpr int kind_float = 1, kind_int = 2, kind_string = 3, kind_ints = 7, kind_strings = 8;
constexpr int type_float = 1, type_int64 = 7;
constexpr int ir_version = 8, opset = 17;

std::string attribute_of(onnx_option const& option) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, option.name);
  int kind = 0;
  if (auto const* integer = std::get_if<std::int64_t>(&option.value)) to.add_int64(3, *integer), kind = kind_int;
  if (auto const* real = std::get_if<float>(&option.value)) to.add_float(2, *real), kind = kind_float;
  if (auto const* text = std::get_if<std::string>(&option.value)) to.add_string(4, *text), kind = kind_string;
  if (auto const* list = std::get_if<std::vector<std::int64_t>>(&option.value)) {
    for (auto const each : *list) to.add_int64(8, each);
    kind = kind_ints;
  }
  if (auto const* list = std::get_if<std::vector<std::string>>(&option.value)) {
    for (auto const& each : *list) to.add_string(9, each);
    kind = kind_strings;
  }
  to.add_int32(20, kind);
  return bytes;
}

template <class T>
std::string tensor_of(std::string const& name, std::vector<std::int64_t> const& shape, int type,
                      std::vector<T> const& values) {
  std::string bytes;
  pbf_writer to(bytes);
  for (auto const length : shape) to.add_int64(1, length);
  to.add_int32(2, type);
  to.add_string(8, name);
  std::string raw(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  to.add_string(9, raw);
  return bytes;
}

std::string value_of(onnx_builder::end const& end) {
  std::string bytes;
  {
    pbf_writer to(bytes);
    to.add_string(1, end.name);
    pbf_writer type(to, 2);
    pbf_writer tensor(type, 1);
    tensor.add_int32(1, end.is_whole ? type_int64 : type_float);
    pbf_writer shape(tensor, 2);
    {
      pbf_writer length(shape, 1);
      length.add_string(2, "batch");
    }
    for (int const each : end.lengths) {
      pbf_writer length(shape, 1);
      length.add_int64(1, each);
    }
  }
  return bytes;
}

}  // namespace

std::string onnx_builder::unique(std::string name) {
  auto const base = name;
  for (int i = 1; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

std::string onnx_builder::node(std::string const& type, std::vector<std::string> const& inputs,
                               std::vector<onnx_option> const& options, int output) {
  // The first node of a layer that does more than move axes has the layer's name; others have their type after it.
  auto const name = unique(taken_.contains(layer_) || type == "Transpose" ? layer_ + "/" + type : layer_);
  std::string bytes, result;
  pbf_writer to(bytes);
  for (auto const& each : inputs) to.add_string(1, each);
  for (int i = 0; i < output; ++i) to.add_string(2, "");
  to.add_string(2, result = name + ":0");
  to.add_string(3, name);
  to.add_string(4, type);
  for (auto const& each : options) to.add_message(5, attribute_of(each));
  pbf_writer(nodes_).add_message(1, bytes);
  return result;
}

std::string onnx_builder::named(std::string const& type, std::string const& input, std::string const& output) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, input);
  to.add_string(2, output);
  to.add_string(3, unique(output));
  to.add_string(4, type);
  pbf_writer(nodes_).add_message(1, bytes);
  return output;
}

std::string onnx_builder::constant(std::string const& name, std::vector<std::int64_t> const& shape,
                                   std::vector<float> const& values) {
  auto const bytes = tensor_of(name, shape, type_float, values);
  auto const [known, is_new] = known_.try_emplace(bytes, name);
  if (!is_new) return known->second;
  auto const own = unique(name);
  known->second = own;
  pbf_writer(constants_).add_message(5, own == name ? bytes : tensor_of(own, shape, type_float, values));
  return own;
}

std::string onnx_builder::integers(std::vector<std::int64_t> const& values) {
  std::string name = "integers";
  for (auto const each : values) name += "_" + std::to_string(each);
  if (taken_.insert(name).second)
    pbf_writer(constants_)
        .add_message(5, tensor_of(name, {static_cast<std::int64_t>(values.size())}, type_int64, values));
  return name;
}

std::string onnx_builder::number(float value) { return constant("number_" + std::to_string(value), {}, {value}); }

onnx_output onnx_builder::channels_first(onnx_output const& from) {
  if (from.channels_first || from.lengths.size() < 2) return from;
  std::vector<std::int64_t> order{0, static_cast<std::int64_t>(from.lengths.size())};
  for (std::size_t i = 1; i < from.lengths.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
  auto const [known, is_new] = moved_.try_emplace(from.name);
  if (is_new) known->second = node("Transpose", {from.name}, {{"perm", order}});
  return {known->second, from.lengths, true};
}

onnx_output onnx_builder::channels_last(onnx_output const& from) {
  if (!from.channels_first) return from;
  std::vector<std::int64_t> order{0};
  for (std::size_t i = 2; i <= from.lengths.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
  order.push_back(1);
  auto const [known, is_new] = moved_.try_emplace(from.name);
  if (is_new) known->second = node("Transpose", {from.name}, {{"perm", order}});
  return {known->second, from.lengths, false};
}

std::string onnx_builder::finish(std::string const& name, std::vector<end> const& inputs,
                                 std::vector<end> const& outputs) const {
  std::string graph = nodes_;
  pbf_writer to(graph);
  to.add_string(2, name);
  graph += constants_;
  for (auto const& each : inputs) to.add_message(11, value_of(each));
  for (auto const& each : outputs) to.add_message(12, value_of(each));
  std::string file;
  pbf_writer model(file);
  model.add_int64(1, ir_version);
  model.add_string(2, "stagecraft");
  model.add_string(
      3, std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch));
  model.add_message(7, graph);
  std::string set;
  pbf_writer opsets(set);
  opsets.add_string(1, "");
  opsets.add_int64(2, opset);
  model.add_message(8, set);
  return file;
}

}  // namespace stagecraft::tool
