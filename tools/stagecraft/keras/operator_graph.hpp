// SPDX-License-Identifier: BSD-3-Clause
// Operations on tensors in Keras's configurations, which are no layers: Keras 2 writes `x + 3` and `tf.concat` as
// TFOpLambda and SlicingOpLambda, Keras 3 as classes of keras.ops. They become the nodes of TensorFlow that do the
// same, so that layers and operations come of them in the same way as of TensorFlow's graphs.
#pragma once

#include "source/source_model.hpp"
#include "tensorflow/graph_def.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// What the numbers of a tensor are, as far as operations distinguish them.
enum class operand_kind : unsigned char { real, whole, truth };

/// A tensor of an operator_graph.
struct operand {
  std::string node;  ///< "add", or "split:1"
  operand_kind kind = operand_kind::real;
  std::optional<int> rank{};            ///< the number of its axes, as far as it is known
  std::vector<std::int64_t> lengths{};  ///< its lengths, -1 for that of samples; empty: they are not known
};

/// One call of an operation: the function, by the name that its framework gives it, and its arguments.
struct operator_call {
  std::string name;            ///< name of the layer in the file
  std::string function;        ///< "keras.Add", "tf.math.add"
  json positional, named;      ///< arguments; a tensor is {"tensor of this call": its number}
  std::vector<operand> given;  ///< the tensors
};

/// The key of a tensor in the arguments of a call.
inline constexpr char const* tensor_key = "tensor of this call";

/// True for the configuration of an operation on tensors.
[[nodiscard]] bool is_operator(json const& entry);
/// The function of such a configuration; what the configuration says besides becomes arguments by name.
[[nodiscard]] std::string function_of_operator(json const& entry, json& named);

/// A graph of operations with its inputs.
class operator_graph {
 public:
  /// Adds an input of this shape, the samples excluded. Returns its tensor.
  operand add_input(shape const& of, operand_kind kind);
  /// Adds the nodes of a call. Returns its outputs. Throws unsupported for functions and arguments that are not here.
  std::vector<operand> add(operator_call const& call);
  /// Reads the graph as a model whose outputs are these. Throws the errors of read_onnx.
  [[nodiscard]] source_model read(std::vector<operand> const& outputs, std::string const& file) const;

  // Functions for the operations of one call.

  /// Adds a node of TensorFlow's, named after the call.
  operand emit(std::string const& type, std::vector<operand> const& inputs,
               std::map<std::string, tensorflow_attribute, std::less<>> attributes = {});
  [[nodiscard]] operand whole_list(std::vector<std::int64_t> const& values);
  [[nodiscard]] operand whole_number(std::int64_t value);
  [[nodiscard]] operand real_number(double value);
  /// A constant of a number, or of lists of numbers. Throws unsupported for anything else.
  [[nodiscard]] operand constant(json const& value);
  [[nodiscard]] operand as_real(operand const& x);
  [[nodiscard]] operand as_truth(operand const& x);

 private:
  [[nodiscard]] operand add_constant(stored_tensor tensor, operand_kind kind);

  tensorflow_graph graph_;
  tensorflow_signature signature_;
  std::string name_;      ///< name of the call whose nodes are added
  std::size_t next_ = 0;  ///< number of its next node
  std::size_t constants_ = 0;
};

[[nodiscard]] tensorflow_attribute truth_attribute_of(bool value);
[[nodiscard]] tensorflow_attribute number_attribute_of(std::int64_t value);
[[nodiscard]] tensorflow_attribute real_attribute_of(double value);
[[nodiscard]] tensorflow_attribute text_attribute_of(std::string value);
[[nodiscard]] tensorflow_attribute type_attribute_of(std::int64_t number);
[[nodiscard]] tensorflow_attribute list_attribute_of(std::vector<std::int64_t> values);

/// The arguments of a call by their places, whichever way they were given.
class operator_arguments {
 public:
  /// `names`: the parameters in their order, separated by blanks; the first or the last one takes all (further)
  /// arguments if it begins with *. Throws unsupported for an argument that the function does not have.
  operator_arguments(operator_graph& graph, operator_call const& call, std::string_view names);

  /// The value of an argument; null if there is none.
  [[nodiscard]] json const& at(std::size_t place);
  /// A tensor or a constant. Throws unsupported if there is none.
  [[nodiscard]] operand tensor(std::size_t place);
  [[nodiscard]] std::vector<operand> tensors(std::size_t place);
  /// Whole numbers, of which one may stand for a list; none if the argument is null.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t place);
  [[nodiscard]] std::int64_t integer(std::size_t place, std::int64_t by_default);
  [[nodiscard]] double real(std::size_t place, double by_default);
  [[nodiscard]] bool truth(std::size_t place, bool by_default);
  [[nodiscard]] std::string text(std::size_t place, std::string_view by_default);
  /// True if the argument is a tensor of the graph.
  [[nodiscard]] bool is_tensor(std::size_t place);
  /// Throws unsupported for an argument that nobody has read, unless it is null.
  void check_all_read() const;

 private:
  [[nodiscard]] operand operand_of(json const& value);

  operator_graph& graph_;
  operator_call const& call_;
  std::vector<std::string> names_;
  std::vector<json> values_;
  std::vector<bool> is_read_;
};

/// A function that adds the nodes of an operation, and returns its outputs.
using operator_writer = std::function<std::vector<operand>(operator_graph&, operator_arguments&)>;
struct written_operator {
  std::string_view parameters;
  operator_writer write;
};
/// The operations by the names of their functions.
[[nodiscard]] std::map<std::string, written_operator, std::less<>> const& written_operators();

}  // namespace stagecraft::tool
