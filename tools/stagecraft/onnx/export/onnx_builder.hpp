// SPDX-License-Identifier: BSD-3-Clause
// Builds an ONNX file: nodes, constants, and tensors, whose axes stay in ONNX's order for the next node that needs them
// so.
#pragma once

#include "source/source_model.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::tool {

/// A tensor of the file, which stands for one of Keras's.
struct onnx_output {
  std::string name;
  std::vector<int> lengths;     ///< Keras's lengths, without the batch
  bool channels_first = false;  ///< the file's order of axes
};

/// An attribute of a node.
struct onnx_option {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<std::string>> value;
};

class onnx_builder {
 public:
  /// Adds a node; returns the name of its output, or of the one with the number that is asked for.
  std::string node(std::string const& type, std::vector<std::string> const& inputs,
                   std::vector<onnx_option> const& options = {}, int output = 0);
  /// Adds a node whose output has a name of its own.
  std::string named(std::string const& type, std::string const& input, std::string const& output);
  /// Adds constants. A constant with the same content is added once.
  std::string constant(std::string const& name, std::vector<std::int64_t> const& shape,
                       std::vector<float> const& values);
  std::string integers(std::vector<std::int64_t> const& values);
  std::string number(float value);

  /// The tensor with its channels first, or last.
  onnx_output channels_first(onnx_output const& from);
  onnx_output channels_last(onnx_output const& from);

  /// Sets the layer of the model that the following nodes are named after.
  void begin(std::string const& layer) { layer_ = layer; }
  [[nodiscard]] std::string const& layer() const { return layer_; }

  /// A graph's input or output.
  struct end {
    std::string name;
    std::vector<int> lengths;
    bool is_whole = false;  ///< its elements are whole numbers
  };
  /// The bytes of the file. Equal models make equal bytes.
  [[nodiscard]] std::string finish(std::string const& name, std::vector<end> const& inputs,
                                   std::vector<end> const& outputs) const;

 private:
  std::string unique(std::string name);

  std::string layer_;
  std::string nodes_, constants_;  ///< fields of the graph
  std::set<std::string> taken_;
  std::map<std::string, std::string> known_;  ///< constants, by their content
  std::map<std::string, std::string> moved_;  ///< tensors with their axes in the other order
};

/// The ONNX file of a model, opset 17. Throws file_error E5069 with everything that the format lacks.
[[nodiscard]] std::string onnx_of(source_model const& model, std::string const& path);

}  // namespace stagecraft::tool
