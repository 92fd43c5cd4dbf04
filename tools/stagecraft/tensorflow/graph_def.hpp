// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow's graphs of operations, read with protozero: frozen GraphDefs, and the graph of a saved_model.pb with its
// functions and signatures. Sources: tensorflow/core/framework/graph.proto, node_def.proto, attr_value.proto,
// function.proto, op_def.proto, tensor.proto; core/protobuf/meta_graph.proto, saved_model.proto.
#pragma once

#include <stagecraft/io/stored_tensor.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// The kind of an attribute of a TensorFlow node.
enum class tensorflow_kind : unsigned char {
  none,
  text,
  integer,
  real,
  truth,
  type,
  shape,
  tensor,
  function,
  texts,
  whole_numbers,
  reals,
  types,
  other  ///< a list of another kind, which may be empty
};

/// TensorFlow's numbers for the types that readers name.
enum class tensorflow_type : std::int32_t {
  float32 = 1,
  float64 = 2,
  int32 = 3,
  text = 7,
  int64 = 9,
  boolean = 10,
  bfloat16 = 14,
  float16 = 19,
  resource = 20
};

/// An attribute of a node. Only the fields of its kind are set.
struct tensorflow_attribute {
  tensorflow_kind kind = tensorflow_kind::none;
  std::string text;          ///< a text, or the name of a function
  std::int64_t integer = 0;  ///< a whole number, a truth value or the number of a type
  float real = 0;
  std::vector<std::int64_t>
      integers;  ///< a list of whole numbers or types, or the lengths of a shape, -1 for open ones
  std::vector<float> reals;
  std::vector<std::string> texts;       ///< a list of texts, or the texts of a tensor
  std::optional<stored_tensor> tensor;  ///< none for a tensor of texts
  bool has_rank = true;                 ///< false: a shape whose number of axes is open
  std::int32_t element_type = 0;        ///< TensorFlow's number of a tensor's type
};

/// A node of a graph or of a function's body.
struct tensorflow_node {
  std::string name, type;
  std::vector<std::string> inputs;  ///< "node", "node:1", "node:output:1" in functions, "^node" for an order
  std::map<std::string, tensorflow_attribute, std::less<>> attributes;

  [[nodiscard]] tensorflow_attribute const* find(std::string_view attribute) const {
    auto const found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t by_default) const {
    auto const* const found = find(attribute);
    return found == nullptr ? by_default : found->integer;
  }
  [[nodiscard]] bool truth(std::string_view attribute, bool by_default = false) const {
    return integer(attribute, by_default ? 1 : 0) != 0;
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
                                                   std::vector<std::int64_t> by_default = {}) const {
    auto const* const found = find(attribute);
    return found == nullptr ? by_default : found->integers;
  }
};

/// A function of a graph's library.
struct tensorflow_function {
  std::vector<std::string> arguments;
  std::vector<tensorflow_node> nodes;
  std::vector<std::pair<std::string, std::string>> results;  ///< names of outputs, with their tensors
};

/// An input or an output of a signature.
struct tensorflow_tensor {
  std::string key;     ///< the name that users know
  std::string tensor;  ///< "node:0"
  std::int32_t type = 1;
  std::vector<std::int64_t> shape;  ///< -1 for a length that is open
  bool has_rank = true;
};

/// The inputs and outputs that a server calls a graph by.
struct tensorflow_signature {
  std::vector<tensorflow_tensor> inputs, outputs;
  std::string method = {};  ///< "tensorflow/serving/predict"
};

/// A graph with its functions, and the signatures of a SavedModel.
struct tensorflow_graph {
  std::vector<tensorflow_node> nodes;
  std::map<std::string, tensorflow_function> functions;
  std::map<std::string, tensorflow_signature> signatures;
  std::string restore_node;  ///< the node that restores variables; empty in a frozen graph
};

/// The graph of a saved_model.pb whose tags are `serve`. Throws file_error E5240 if the bytes are damaged, or have no
/// such graph.
[[nodiscard]] tensorflow_graph parse_saved_graph(std::string_view bytes, std::string const& file);
/// The numbers of a TensorProto. Throws file_error E5240 if the bytes are damaged, or the type has no numbers.
[[nodiscard]] stored_tensor parse_tensor(std::string_view bytes, std::string const& file);
/// The graph of a frozen GraphDef. Throws file_error E5240.
[[nodiscard]] tensorflow_graph parse_graph_def(std::string_view bytes, std::string const& file);

/// The library's type for TensorFlow's number of a type; none for complex numbers, texts and others.
[[nodiscard]] std::optional<element_type> element_type_of(std::int32_t type);

}  // namespace stagecraft::tool
