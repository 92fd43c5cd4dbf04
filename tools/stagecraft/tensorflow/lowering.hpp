// SPDX-License-Identifier: BSD-3-Clause
// Lowers a graph of TensorFlow's to the same graph of nodes that ONNX files are read into, so that both become layers
// and operations in the same way. Functions are inlined, variables become constants, conditions and loops are unrolled.
#pragma once

#include "onnx/onnx_constants.hpp"
#include "onnx/onnx_file.hpp"
#include "source/source_layer.hpp"
#include "tensorflow/graph_def.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// Reads the value of a variable by its key in the checkpoint.
using variable_reader = std::function<stored_tensor(std::string const& key)>;

/// An output of a TensorFlow node. Only one of these is set.
struct lowered_value {
  std::string tensor;              ///< a tensor of the lowered graph
  std::string variable;            ///< a variable
  std::string restored;            ///< a tensor of the checkpoint, by its key
  std::vector<std::string> texts;  ///< a constant of texts
  bool is_reference = false;       ///< true for a variable that is read like a tensor, as in TensorFlow 1
};

using node_attributes = std::vector<std::pair<std::string, onnx_attribute>>;

[[nodiscard]] onnx_attribute integer_attribute(std::int64_t value);
[[nodiscard]] onnx_attribute integers_attribute(std::vector<std::int64_t> values);
[[nodiscard]] onnx_attribute real_attribute(float value);
[[nodiscard]] onnx_attribute text_attribute(std::string value);

/// ONNX's number for a type with TensorFlow's number; 0 for a type that ONNX lacks.
[[nodiscard]] int onnx_type_of(std::int64_t type);

class tensorflow_lowering {
 public:
  tensorflow_lowering(tensorflow_graph const& graph, std::string const& file, variable_reader variables,
                      std::function<int(std::string const& node)> group_of = {});

  /// Lowers the nodes that the outputs need. Throws file_error: E5241 a graph that is not understood, E5064 with all
  /// nodes that the library lacks.
  [[nodiscard]] onnx_graph run(tensorflow_signature const& signature);

  // Functions for lowerings of one node. They throw unsupported with the reason if the library lacks something.

  [[nodiscard]] tensorflow_node const& node() const { return *node_; }
  /// The number of the node's inputs that are tensors.
  [[nodiscard]] std::size_t inputs() const { return given_.size(); }
  /// The tensor of the lowered graph that an input refers to.
  [[nodiscard]] std::string input(std::size_t index);
  [[nodiscard]] std::vector<std::string> all_inputs();
  /// The value of an input if it is known; none for other tensors.
  [[nodiscard]] std::optional<onnx_constant> known(std::size_t index);
  /// The value of an input that must be known.
  [[nodiscard]] onnx_constant required(std::size_t index);
  /// The value of a lowered tensor if it is known.
  [[nodiscard]] std::optional<onnx_constant> known(std::string const& tensor) const { return constants_.find(tensor); }
  /// The shape of a constant of the graph or a variable; none for other tensors.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant_shape(std::string const& tensor) const;
  /// The number of a lowered tensor's axes as far as it is known.
  [[nodiscard]] std::optional<int> rank(std::string const& tensor) const;
  /// The number of axes of an input. Throws unsupported if it is not known.
  [[nodiscard]] int rank_of(std::size_t index);

  /// The node whose output is a lowered tensor, if it is of this type; null otherwise.
  [[nodiscard]] onnx_node const* giver(std::string const& tensor, std::string_view type) const;
  /// Adds a node to the lowered graph, and returns its output.
  std::string emit(std::string const& type, std::vector<std::string> inputs, node_attributes attributes = {});
  /// Adds a node with several outputs.
  std::vector<std::string> emit_several(std::string const& type, std::vector<std::string> inputs,
                                        node_attributes attributes, std::size_t outputs);
  /// Adds constants.
  [[nodiscard]] std::string whole_list(std::vector<std::int64_t> const& values);
  [[nodiscard]] std::string whole_number(std::int64_t value);
  [[nodiscard]] std::string real_number(double value);
  [[nodiscard]] std::string constant(onnx_constant const& value);
  /// Sets an output of the node.
  void set(std::string tensor, std::size_t output = 0);

 private:
  struct scope;

  [[noreturn]] void wrong(std::string const& what) const;
  [[nodiscard]] std::vector<tensorflow_node const*> order_of(scope const& in, std::vector<std::string> const& wanted,
                                                             bool follows_orders) const;
  [[nodiscard]] lowered_value const* find(scope const& in, std::string const& reference) const;
  void carry_out(scope& in, std::vector<std::string> const& wanted);
  void lower(scope& in, tensorflow_node const& node);
  void lower_known(scope& in, tensorflow_node const& node);
  void restore(scope& in, tensorflow_node const& node);
  [[nodiscard]] std::vector<lowered_value> call(std::string const& function, std::vector<lowered_value> const& with,
                                                scope const& from, tensorflow_node const& caller);
  void call_loop(scope& in, tensorflow_node const& node, std::vector<lowered_value> values);
  [[nodiscard]] std::string tensor_of(lowered_value const& value);
  [[nodiscard]] std::string variable_of(std::string const& name);
  std::string add_constant(stored_tensor tensor);
  [[nodiscard]] std::string unused_name(std::string name);
  void find_rank(onnx_node const& node);
  void find_variables();
  void join_tensordots();
  void join_biases_of_heads();
  void join_normalizations();

  tensorflow_graph const& graph_;
  std::string const& file_;
  variable_reader read_variable_;
  std::function<int(std::string const& node)> group_of_;
  onnx_graph made_;
  onnx_constants constants_;
  std::map<std::string, std::vector<std::int64_t>> shapes_;  ///< shapes of constants, also of large ones
  std::map<std::string, int> ranks_;
  std::map<std::string, std::int64_t> lengths_;  ///< lengths of lists whose values are not known
  std::map<std::string, int> names_;             ///< names of tensors, each with the number of the next one like it
  std::set<std::string> inlined_;
  std::map<std::string, std::string> keys_;       ///< keys of variables in the checkpoint
  std::map<std::string, std::string> variables_;  ///< tensors of variables that were read
  std::vector<std::string> problems_;
  std::set<std::string> reported_;
  bool is_restoring_ = false;
  std::size_t steps_left_ = 1 << 16;  ///< number of nodes that may still be lowered
  // The node that is being lowered:
  tensorflow_node const* node_ = nullptr;
  scope* scope_ = nullptr;
  std::string full_name_;
  std::vector<lowered_value const*> given_;
};

/// A function that lowers nodes of one type.
using tensorflow_converter = std::function<void(tensorflow_lowering&)>;
/// All such functions, by the types of nodes.
[[nodiscard]] std::map<std::string, tensorflow_converter> const& tensorflow_converters();

void add_elementwise_lowerings(std::map<std::string, tensorflow_converter>& to);
void add_window_lowerings(std::map<std::string, tensorflow_converter>& to);
void add_movement_lowerings(std::map<std::string, tensorflow_converter>& to);
void add_product_lowerings(std::map<std::string, tensorflow_converter>& to);

}  // namespace stagecraft::tool
