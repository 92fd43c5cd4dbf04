// SPDX-License-Identifier: BSD-3-Clause
// The bytes of an ONNX file: nodes, constants, inputs and outputs, in the format of protocol buffers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::io {

/// The opset of ONNX that files are written in.
inline constexpr int onnx_opset = 27;

/// An attribute of a node.
struct onnx_attribute {
  std::string name;
  std::variant<std::int64_t, std::string, std::vector<std::int64_t>> value;
};

/// Collects the parts of a graph. Equal calls in equal order make equal bytes.
class onnx_graph {
 public:
  using lengths = std::vector<std::int64_t>;

  /// The layer that the following nodes are named after.
  void begin(std::string prefix) { prefix_ = std::move(prefix); }
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_count_; }

  /// Adds a node, and returns the name of its output.
  std::string node(std::string const& type, std::vector<std::string> const& inputs,
                   std::vector<onnx_attribute> const& attributes = {}) {
    std::string result = prefix_ + "/" + type + "_" + std::to_string(nodes_count_);
    node_named(result, type, inputs, attributes);
    return result;
  }
  /// Adds a node whose output has this name.
  void node_named(std::string const& output, std::string const& type, std::vector<std::string> const& inputs,
                  std::vector<onnx_attribute> const& attributes = {}) {
    std::string bytes;
    for (auto const& input : inputs) put(bytes, 1, input);
    put(bytes, 2, output);
    put(bytes, 3, output);
    put(bytes, 4, type);
    for (auto const& each : attributes) put(bytes, 5, attribute(each));
    put(graph_, 1, bytes);
    ++nodes_count_;
  }
  /// Adds float32 numbers under a name, which no other constant has.
  void floats(std::string const& name, lengths const& shape, std::vector<float> const& values) {
    std::string raw;
    for (float const value : values) put_fixed(raw, std::bit_cast<std::uint32_t>(value), 4);
    constant(name, shape, 1, raw);
  }
  /// A float32 number without axes. The same number is added once.
  std::string number(float value) {
    std::string raw;
    put_fixed(raw, std::bit_cast<std::uint32_t>(value), 4);
    return known("number_", {}, 1, raw);
  }
  /// Whole numbers along one axis, or one without axes. The same ones are added once.
  std::string integers(lengths const& values) {
    return known("integers_", {static_cast<std::int64_t>(values.size())}, 7, raw_of(values));
  }
  std::string integer(std::int64_t value) { return known("integer_", {}, 7, raw_of({value})); }
  /// Adds an input or an output of the graph, float32.
  void input(std::string const& name, lengths const& shape) { put(ends_, 11, value_info(name, shape)); }
  void output(std::string const& name, lengths const& shape) { put(ends_, 12, value_info(name, shape)); }

  /// The file's bytes.
  [[nodiscard]] std::string finish(std::string_view name) const {
    std::string graph = graph_, opset, model;
    put(graph, 2, std::string(name));
    graph += constants_ + ends_;
    put(opset, 1, "");
    put(opset, 2, onnx_opset);
    put(model, 1, 10);
    put(model, 2, "stagecraft");
    put(model, 7, graph);
    put(model, 8, opset);
    return model;
  }

 private:
  static void put_varint(std::string& to, std::uint64_t value) {
    for (; value > 127; value >>= 7U) to += static_cast<char>((value & 127U) | 128U);
    to += static_cast<char>(value);
  }
  static void put_fixed(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 255U);
  }
  static void put(std::string& to, unsigned field, std::int64_t value) {
    put_varint(to, field << 3U);
    put_varint(to, static_cast<std::uint64_t>(value));
  }
  static void put(std::string& to, unsigned field, std::string const& bytes) {
    put_varint(to, field << 3U | 2U);
    put_varint(to, bytes.size());
    to += bytes;
  }
  static std::string raw_of(lengths const& values) {
    std::string raw;
    for (auto const value : values) put_fixed(raw, static_cast<std::uint64_t>(value), 8);
    return raw;
  }
  static std::string attribute(onnx_attribute const& each) {
    std::string bytes;
    put(bytes, 1, each.name);
    if (auto const* number = std::get_if<std::int64_t>(&each.value)) {
      put(bytes, 3, *number);
      put(bytes, 20, 2);
    } else if (auto const* text = std::get_if<std::string>(&each.value)) {
      put(bytes, 4, *text);
      put(bytes, 20, 3);
    } else {
      for (auto const length : std::get<lengths>(each.value)) put(bytes, 8, length);
      put(bytes, 20, 7);
    }
    return bytes;
  }
  static std::string value_info(std::string const& name, lengths const& shape) {
    std::string axes, tensor, type, bytes;
    for (auto const length : shape) {
      std::string axis;
      put(axis, 1, length);
      put(axes, 1, axis);
    }
    put(tensor, 1, 1);
    put(tensor, 2, axes);
    put(type, 1, tensor);
    put(bytes, 1, name);
    put(bytes, 2, type);
    return bytes;
  }
  void constant(std::string const& name, lengths const& shape, int type, std::string const& raw) {
    std::string bytes;
    for (auto const length : shape) put(bytes, 1, length);
    put(bytes, 2, type);
    put(bytes, 8, name);
    put(bytes, 9, raw);
    put(constants_, 5, bytes);
  }
  std::string known(char const* kind, lengths const& shape, int type, std::string const& raw) {
    auto const [place, is_new] = known_.try_emplace(kind + raw, kind + std::to_string(known_.size()));
    if (is_new) constant(place->second, shape, type, raw);
    return place->second;
  }

  std::string prefix_;
  std::string graph_, constants_, ends_;  ///< fields of the graph
  std::size_t nodes_count_ = 0;
  std::map<std::string, std::string> known_;  ///< constants by their content
};

}  // namespace stagecraft::io
