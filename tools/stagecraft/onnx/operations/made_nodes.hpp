// SPDX-License-Identifier: BSD-3-Clause
// Nodes of ONNX that are not in the file: several of them replace one that is.
#pragma once

#include "operation_nodes.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// True if a node has an input that is not left out.
[[nodiscard]] bool has_input(onnx_node const& node, std::size_t input);

/// Converts nodes that stand for one node of the file, whose name they have.
class node_maker {
 public:
  node_maker(onnx_trace& to, onnx_node const& of) : to_(to), of_(of) {}

  /// Converts a node with these inputs and whole numbers; returns the name of its output.
  [[nodiscard]] std::string operator()(char const* type, std::vector<std::string> inputs,
                                       std::map<std::string, std::int64_t> const& numbers = {}) const;
  /// Converts a node whose attributes are set; returns the name of its output.
  [[nodiscard]] std::string of(onnx_node made) const;
  /// The input with its axes in another order.
  [[nodiscard]] std::string turned(std::string const& x, std::vector<std::int64_t> const& order) const;
  /// The elements of one axis that `places` names.
  [[nodiscard]] std::string picked(std::string const& x, std::vector<double> places, std::int64_t axis) const;
  /// Adds a row of whole numbers; returns its name.
  [[nodiscard]] std::string whole(std::vector<double> values) const;
  /// Adds a number; returns its name.
  [[nodiscard]] std::string real(double value) const;

 private:
  onnx_trace& to_;
  onnx_node const& of_;
};

void add_attention_operations(std::map<std::string, onnx_converter>& to);
void add_einsum_operations(std::map<std::string, onnx_converter>& to);
/// Stands after all others, since operators of two domains have one name.
void add_microsoft_attention(std::map<std::string, onnx_converter>& to);
void add_pooling_operations(std::map<std::string, onnx_converter>& to);
void add_quantized_operations(std::map<std::string, onnx_converter>& to);
void add_region_operations(std::map<std::string, onnx_converter>& to);
void add_resize_operations(std::map<std::string, onnx_converter>& to);
void add_sampling_operations(std::map<std::string, onnx_converter>& to);
void add_state_operations(std::map<std::string, onnx_converter>& to);
void add_tap_operations(std::map<std::string, onnx_converter>& to);
void add_transform_operations(std::map<std::string, onnx_converter>& to);

/// Converters of word_converters().
void add_word_reductions(std::map<std::string, onnx_converter>& to);

}  // namespace stagecraft::tool
