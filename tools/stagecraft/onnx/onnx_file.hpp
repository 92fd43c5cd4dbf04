// SPDX-License-Identifier: BSD-3-Clause
// Reads ONNX files with protozero: the graph, its nodes and constants.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The kind of an attribute, by ONNX's numbers.
enum class onnx_kind : unsigned char {
  none = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  other = 9
};

struct onnx_graph;

/// An attribute of a node. Attributes of other kinds (lists of graphs, types) leave these fields empty.
struct onnx_attribute {
  onnx_kind kind = onnx_kind::none;
  float real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::optional<stored_tensor> tensor;
  std::shared_ptr<onnx_graph const> graph;  ///< a branch or the body of a loop
  std::string reference;                    ///< the attribute of the enclosing function that it stands for
};

/// One node of a graph. An input that is left out has an empty name.
struct onnx_node {
  std::string name, type, domain;
  std::string overload{};  ///< the function that it stands for, of several of this type and domain
  std::vector<std::string> inputs, outputs;
  std::map<std::string, onnx_attribute, std::less<>> attributes;
  std::size_t captures = 0;                 ///< inputs at the end that only the graphs of its attributes read
  std::vector<std::string> joined_names{};  ///< names of other nodes that this one stands for, besides its own

  [[nodiscard]] onnx_attribute const* find(std::string_view attribute) const {
    auto const found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t by_default) const {
    auto const* const found = find(attribute);
    return found == nullptr ? by_default : found->integer;
  }
  [[nodiscard]] float real(std::string_view attribute, float by_default) const {
    auto const* const found = find(attribute);
    return found == nullptr ? by_default : found->real;
  }
  [[nodiscard]] std::string text(std::string_view attribute, std::string_view by_default) const {
    auto const* const found = find(attribute);
    return found == nullptr ? std::string(by_default) : found->text;
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view attribute,
                                                   std::vector<std::int64_t> by_default) const {
    auto const* const found = find(attribute);
    return found == nullptr ? by_default : found->integers;
  }
};

/// An input or an output of a graph. A length that the file leaves open is -1.
struct onnx_value {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::string> dimensions{};  ///< names of its lengths that the file leaves open
  int type = 1;                           ///< ONNX's number of its elements' type; 1 is float32
};

/// The graph of a file.
struct onnx_graph {
  std::string name, producer;
  std::int64_t opset = 0;
  std::vector<onnx_node> nodes;
  std::vector<stored_tensor> constants;
  std::vector<onnx_value> inputs, outputs;  ///< inputs that are constants as well are left out
  std::vector<std::string> other_names{};   ///< names in the file of what is no node here, such as constants
};

/// A function that a file defines: nodes of its domain, name and overload stand for its nodes.
struct onnx_function {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<onnx_node> nodes;
  std::map<std::string, onnx_attribute, std::less<>> defaults;  ///< values of attributes that nodes leave out
  std::int64_t opset = 0;
};

/// Replaces nodes that stand for functions by the functions' nodes. Throws file_error E5230 if these are more than
/// 200,000, or if a function contains itself.
void inline_functions(onnx_graph& graph, std::vector<onnx_function> const& functions, std::string const& file);

/// A copy of a graph in which tensors have the names of `names`, and those that its nodes make begin with `prefix`.
[[nodiscard]] onnx_graph renamed(onnx_graph const& from, std::map<std::string, std::string> names,
                                 std::string const& prefix);

/// The type of stored elements for ONNX's number; none for types that are not read.
[[nodiscard]] std::optional<element_type> stored_type_of(std::int32_t number);
/// ONNX's number of a type of elements.
[[nodiscard]] int number_of(element_type type);

/// Names of tensors that a graph takes from around it.
[[nodiscard]] std::vector<std::string> captures_of(onnx_graph const& graph);

/// Reads a file, and files beside it that hold its constants. Memory is bounded by a multiple of their sizes. Throws
/// file_error: E5001 a file cannot be read, E5067 it is no ONNX file, or is damaged.
[[nodiscard]] onnx_graph read_onnx_file(std::string const& path);
/// Reads the bytes of a file that holds all of its constants.
[[nodiscard]] onnx_graph parse_onnx(std::string_view bytes, std::string const& name);

}  // namespace stagecraft::tool
