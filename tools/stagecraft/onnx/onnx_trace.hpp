// SPDX-License-Identifier: BSD-3-Clause
// Turns an ONNX graph node by node into calls of Keras's layers. ONNX puts channels before height and width, Keras
// after them: each tensor is kept as a layer returns it, with the graph's axis for each of its own, so that
// transpositions cost nothing until a layer needs its axes in a certain order.
#pragma once

#include "onnx_constants.hpp"
#include "source/source_model.hpp"
#include "source/written_layer.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The kind of a tensor's elements in the graph; here all elements are floats.
enum class element_kind : unsigned char { real, whole, truth };

/// The kind of a type with ONNX's number; none for complex numbers, texts and other unsupported types.
[[nodiscard]] std::optional<element_kind> element_kind_of(std::int64_t type);

/// What may stand for the graph's axis in `traced_tensor::order`, where the graph has no samples: none for the axis of
/// samples here, and none for an axis of length 1, which a single number has here.
inline constexpr int no_axis = -1, unit_axis = -2;

/// The least and the largest number that a tensor may hold.
struct value_range {
  double least = 0, most = 0;

  [[nodiscard]] bool is_within(double from, double to) const { return least >= from && most <= to; }
  /// True if float32 has every whole number between them.
  [[nodiscard]] bool is_exact() const { return is_within(-0x1p24, 0x1p24); }
};

/// A type of 16 bits as Keras calls it, by ONNX's number; null for other types.
[[nodiscard]] char const* half_name(int type);

/// The numbers of a type of elements by ONNX's number; all for those that are no whole numbers.
[[nodiscard]] value_range range_of_type(int type);

/// A tensor of the graph.
struct traced_tensor {
  int layer = -1;              ///< the layer that computes it
  int rank = 0;                ///< number of its axes in the graph
  std::vector<int> order{};    ///< for each axis of the layer's output, batch included, the graph's axis; others are 1
  std::vector<int> lengths{};  ///< lengths of the layer's axes, without the batch
  bool is_nonnegative = false;
  int fused_axis = -1;  ///< the graph's axis of both directions, which is a part of the last axis here; -1: none
  /// The first of two of these axes that are joined to one in the graph: samples and heads, or steps and samples; -1:
  /// none.
  int joined_axis = -1;
  /// The axes that were flattened in the layer's order, though the graph flattens them in its own.
  std::vector<int> flat_order{}, flat_lengths{};
  element_kind elements = element_kind::real;

  /// True if the layer's axes are the graph's in the same order, apart from axes of length 1.
  [[nodiscard]] bool is_in_order() const;
};

/// The C++ of an operation, from the names of its operands.
using operation_code = std::function<source_text(std::vector<source_text> const& operands)>;

/// An operation that is no layer: an expression of tensors and of constants, which are weights.
struct traced_operation {
  own_text word = "operation";  ///< the name of a layer of this operation
  operation_code code;
  std::vector<onnx_constant> constants{};  ///< operands after the tensors
  std::vector<std::string> names{};        ///< names of the constants
  std::optional<bool> gives_words{};       ///< says that it returns int32; none: if it takes nothing else
};

/// A layer with its only call.
struct traced_layer {
  std::string class_name, name;
  json config = json::object();
  std::vector<int> inputs{};
  std::vector<stored_array> weights{};
  std::vector<int> lengths{};  ///< shape of the output, without the batch
  bool is_affine = false;      ///< true: factors and summands, which become a layer at the end
  std::vector<float> factors{}, summands{};
  std::shared_ptr<traced_operation const> operation{};
  std::vector<std::string> nodes{};  ///< names of the nodes that it was made of
  int group = 0;                     ///< their group: layers of different groups are not joined
  int half = 0;                      ///< ONNX's number of the type of 16 bits that it computes in; 0: it does not
  bool is_word = false;              ///< true: its output is of int32 here, else of float32
};

/// A layer of operations, which belongs to the model.
struct operation_layer {
  source_text name, call;
  std::vector<shape> inputs{};
  layer_rules rules{};
};

/// A layer that reads better as an operation; none for others.
[[nodiscard]] std::optional<traced_operation> operation_of(traced_layer const& layer);

/// A loop whose number of trips is known: what its body is called with, and what becomes of the body's outputs.
struct known_loop {
  struct input {
    enum class kinds : unsigned char { state, element, table };
    kinds kind = kinds::state;
    std::string name{};  ///< a state's first value, the tensor of the elements, or a constant with a row for each trip
    std::int64_t axis = 0;  ///< the graph's axis of the elements
    bool is_back = false;   ///< true: the last element is the first trip's
    std::string places{};   ///< a constant with the place of each trip's element; empty: all, one after the other
  };
  struct output {
    int state = -1;         ///< the input that has this value in the next trip; -1: all values stand side by side
    int result = -1;        ///< the node's output; -1: there is none
    std::int64_t axis = 0;  ///< the graph's axis of the trips
    bool is_back = false;   ///< true: the last trip's value is the first
  };
  onnx_graph const* body = nullptr;
  std::int64_t trips = 0;
  std::vector<input> inputs{};
  std::vector<output> outputs{};
};

/// Thrown for a node that reads an output of an unknown node.
struct unknown_input : std::runtime_error {
  unknown_input() : runtime_error("its input is not known") {}
};

class onnx_trace {
 public:
  /// `is_one_sample`: all axes of the graph belong to one sample; otherwise each input and output has an axis of
  /// samples.
  onnx_trace(onnx_graph const& graph, std::string const& file, import_options const& options, bool is_one_sample);

  /// Returns Keras's configuration of the model, and sets the weights of its layers by name, and the graph's axis for
  /// each axis of its inputs and outputs. Throws file_error E5063, E5064.
  [[nodiscard]] json run(std::map<std::string, std::vector<stored_array>>& weights,
                         std::vector<std::vector<int>>& input_axes, std::vector<std::vector<int>>& output_axes);
  /// Makes a layer of that configuration: the library's, or one of operations.
  [[nodiscard]] std::unique_ptr<source_layer> make(layer_config const& config) const;
  /// The names of the nodes that each layer was made of, by the names of layers.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> nodes_of_layers() const;

  // The functions below turn one node into layers. All throw unsupported with the reason if the library lacks
  // something.

  [[nodiscard]] onnx_graph const& graph() const { return graph_; }
  /// True if int64 and uint32 wrap as int32 does, since the user says that their values fit.
  [[nodiscard]] bool narrows_words() const { return options_.int64_to_int32; }
  /// True if all axes of the graph belong to one sample.
  [[nodiscard]] bool is_one_sample() const { return is_one_sample_; }
  /// The tensor that a node takes. Throws unknown_input if the node that computes it is not known.
  [[nodiscard]] traced_tensor const& tensor(onnx_node const& node, std::size_t input);
  /// Turns a joined axis of samples and one head into samples, outside of attention.
  [[nodiscard]] traced_tensor of_one_head(traced_tensor const& x);
  /// Returns the tensor like the function above; it may have a joined axis.
  [[nodiscard]] traced_tensor const& joined_tensor(onnx_node const& node, std::size_t input) const;
  /// True if the input is present and is no constant.
  [[nodiscard]] bool is_tensor(onnx_node const& node, std::size_t input) const;
  /// A constant that a node takes; none if it is left out. Throws unsupported if it is no constant, or if it has the
  /// number of samples, which is not known, among its numbers.
  [[nodiscard]] std::optional<onnx_constant> constant(onnx_node const& node, std::size_t input) const;
  /// Lengths that a node takes: a constant that may have the number of samples among its numbers.
  [[nodiscard]] std::optional<onnx_constant> lengths(onnx_node const& node, std::size_t input) const;
  /// A constant that a node must have.
  [[nodiscard]] onnx_constant required(onnx_node const& node, std::size_t input) const;
  /// The tensor with its axes in this order; adds Reshape and Permute if they are needed.
  [[nodiscard]] traced_tensor ordered(traced_tensor const& from, std::vector<int> const& order);
  /// The tensor with its axes in the graph's order; channels_last moves the channels to the end.
  [[nodiscard]] traced_tensor in_order(traced_tensor const& from);
  [[nodiscard]] traced_tensor channels_last(traced_tensor const& from);
  /// Calls a layer on tensors. Its weights have the shapes that the library says; its output has the graph's axes in
  /// order.
  traced_tensor call(std::string const& class_name, json const& config, std::vector<traced_tensor> const& inputs,
                     std::vector<onnx_constant> const& weights = {}, std::string const& name = "");
  /// An operation on tensors, which is made part of a layer later. Its output has the lengths' axes in order.
  traced_tensor operate(traced_operation operation, std::vector<traced_tensor> const& inputs,
                        std::vector<int> const& lengths);
  /// The tensor with all of its axes, also those of length 1, in any order in which samples come first.
  [[nodiscard]] traced_tensor complete(traced_tensor const& from);
  /// The complete tensor with the graph's axes in order; the first of them is that of samples, if the graph has one.
  [[nodiscard]] traced_tensor complete_in_order(traced_tensor const& from);
  /// Holds a step that becomes a part of a layer later; returns a tensor with the axes of the step.
  traced_tensor hold(traced_layer step);
  [[nodiscard]] traced_layer const& layer_at(int index) const { return layers_[static_cast<std::size_t>(index)]; }
  /// Multiplies and shifts a tensor: one factor and summand, or one for each channel.
  traced_tensor scaled(traced_tensor const& from, std::vector<float> const& factors,
                       std::vector<float> const& summands);
  /// Sets the output of a node.
  void set(onnx_node const& node, traced_tensor const& tensor, std::size_t output = 0);
  void set_constant(onnx_node const& node, onnx_constant value) {
    constants_.set(node.outputs.at(0), std::move(value));
  }
  /// The one node that takes a tensor; null if there are several, or it is an output of the graph.
  [[nodiscard]] onnx_node const* only_user(std::string const& tensor) const;
  /// True if a node or the graph's outputs read a tensor.
  [[nodiscard]] bool is_taken(std::string const& tensor) const {
    return users_.contains(tensor) || given_.contains(tensor);
  }
  /// True if only the graph's outputs read a tensor.
  [[nodiscard]] bool is_output_alone(std::string const& tensor) const {
    return !users_.contains(tensor) && given_.contains(tensor);
  }
  // Nodes that contain graphs are replaced by the nodes of these.

  /// A new constant; returns its name.
  [[nodiscard]] std::string add_constant(onnx_constant value);
  /// Converts a copy of a graph whose inputs are these tensors; returns the names of its outputs. Throws unknown_input
  /// if that is not possible, and unsupported for more than 20,000 nodes in all such copies.
  [[nodiscard]] std::vector<std::string> inline_graph(onnx_graph const& body, std::vector<std::string> const& inputs);
  /// Writes a loop as one operation, a scan, and sets the node's outputs. Throws unsupported, and leaves the layers as
  /// they were, if the nodes of its body are no operations.
  void roll(onnx_node const& node, known_loop const& loop);
  /// Converts a node that is not in the file; returns the name of its output.
  [[nodiscard]] std::string convert_made(onnx_node node);
  /// Says that the next node that is made multiplies bytes: the smallest number of its input. No node of a file does.
  void say_least_byte(std::optional<int> least) { least_byte_ = least; }
  [[nodiscard]] std::optional<int> least_byte() const { return least_byte_; }
  /// Sets the output of a node: another tensor or constant.
  void set_alias(onnx_node const& node, std::string const& of, std::size_t output);
  /// ONNX's number of the type of a tensor's or a constant's elements; 0 if it is not known.
  [[nodiscard]] int type_of(std::string const& name) const;
  /// Says that a tensor's numbers are whole, of a type with ONNX's number and between these.
  void retype(std::string const& name, int type, value_range range);
  /// The numbers that a tensor or a constant may have, as far as its type and what computes it say.
  [[nodiscard]] value_range range_of(std::string const& name) const;
  /// What an output of a node may hold, from what its inputs may; wider than its type if it wraps.
  [[nodiscard]] value_range result_range(onnx_node const& node, std::size_t output) const;
  /// True if a tensor is of int32 here; others are of float32.
  [[nodiscard]] bool is_word(traced_tensor const& x) const { return layer_at(x.layer).is_word; }
  /// Returns the length of an axis of a node's input. Throws unsupported if it is that of samples.
  [[nodiscard]] std::int64_t length_of(onnx_node const& node, std::size_t input, std::int64_t axis);
  /// Marks a node that was turned into layers together with the one before it.
  void skip(onnx_node const& node) {
    skipped_.insert(&node);
    joined_names_.push_back(node.name);
  }
  /// The group that the names of nodes put a node into.
  [[nodiscard]] int group_of(onnx_node const& node) const {
    return options_.group_of && !node.name.empty() ? options_.group_of(node.name) : 0;
  }
  [[nodiscard]] onnx_constants const& constants() const { return constants_; }
  [[nodiscard]] traced_layer& layer(traced_tensor const& tensor) {
    return layers_[static_cast<std::size_t>(tensor.layer)];
  }
  /// Returns a name for a layer with weights, made from its node's or weights' names; empty: Keras's default name.
  [[nodiscard]] std::string name_of(onnx_node const& node, std::string const& weight) const;

 private:
  void add_inputs();
  [[nodiscard]] traced_tensor input_of(onnx_value const& input, std::size_t number);
  [[nodiscard]] std::vector<int> order_of_input(std::string const& name, int rank) const;
  void convert(onnx_node const& node);
  void convert_nodes(onnx_graph const& graph);
  void add_types(onnx_graph const& graph);
  void find_types(onnx_node const& node);
  [[nodiscard]] bool is_in_range(onnx_node const& node) const;
  [[nodiscard]] bool takes_words(onnx_node const& node) const;
  [[nodiscard]] bool moves_words(onnx_node const& node) const;
  [[nodiscard]] bool needs_words(onnx_node const& node) const;
  [[nodiscard]] onnx_node const& with_floats(onnx_node const& node);
  void set_ranges(onnx_node const& node);
  void set_kinds(onnx_node const& node);
  void name_origin(onnx_node const& node, std::size_t first);
  [[nodiscard]] traced_tensor constant_output(onnx_constant value, std::string const& name);
  void roll_body(onnx_node const& node, known_loop const& loop);
  void take_bias(std::vector<int>& instead);
  void finish_affine();
  void shorten_sequences();
  void fuse_activations();
  void set_halves(onnx_node const& node, std::size_t first);
  void name_halves();
  void drop_unused();
  void join_operations();
  void write_operations(std::vector<int> const& members,
                        std::vector<std::shared_ptr<traced_operation const>> const& operations);
  void name_layers();
  [[nodiscard]] std::vector<int> uses() const;
  [[nodiscard]] std::vector<int> each_itself() const;
  void replace(std::vector<int> const& instead);
  [[nodiscard]] json configuration(std::map<std::string, std::vector<stored_array>>& weights) const;
  [[noreturn]] void wrong(std::string const& what) const;

  onnx_graph const& graph_;
  std::string const& file_;
  import_options const& options_;
  onnx_constants constants_;
  std::map<std::string, traced_tensor> tensors_;
  std::map<std::string, int> types_;  ///< types of elements, as ONNX numbers them
  std::map<std::string, value_range> ranges_;
  std::set<std::string> unknown_;
  std::map<std::string, std::vector<onnx_node const*>> users_;
  std::set<std::string> given_;  ///< the graph's outputs
  std::set<onnx_node const*> skipped_;
  std::deque<onnx_graph> inlined_;  ///< graphs that were inside of nodes, and nodes that are not in the file
  std::size_t inlined_nodes_ = 0, made_ = 0;
  std::vector<std::string> joined_names_;  ///< names of skipped nodes whose layer is being made
  std::vector<traced_layer> layers_;
  std::vector<operation_layer> own_layers_;  ///< layers that are made of operations
  std::vector<int> inputs_, outputs_;
  std::vector<std::string> problems_;
  /// Number of nodes that may still be visited for the axes of inputs, since many inputs may lead to one long chain.
  mutable std::size_t order_looks_left_ = 1 << 17;
  bool is_one_sample_ = false;
  std::size_t weight_budget_ = 1 << 20;  ///< elements of weights that layers may still take
  std::optional<int> least_byte_;
  int loop_depth_ = 0;  ///< the number of loops that are being written as scans, each within the one before
};

/// Throws unsupported for a finite number that is too large for float32, and for a whole one that float32 rounds.
void check_floats(onnx_constant const& constant);

/// True if a sample of these lengths has at most 2^30 elements, which 32 bits can count.
[[nodiscard]] bool is_countable(std::vector<int> const& lengths);

/// The number of one of `rank` axes; negative ones are counted from the end. Throws unsupported for an axis that does
/// not exist.
[[nodiscard]] int axis_of(std::int64_t axis, int rank);

/// A name of letters, digits and underscores.
[[nodiscard]] std::string clean_name(std::string const& name);

/// A function that turns nodes of one type into layers.
using onnx_converter = std::function<void(onnx_trace&, onnx_node const&)>;
/// All such functions, by the types of nodes.
[[nodiscard]] std::map<std::string, onnx_converter> const& onnx_converters();
/// Functions that compute whole numbers in int32, where float32 may not be exact.
[[nodiscard]] std::map<std::string, onnx_converter> const& word_converters();

void add_elementwise_converters(std::map<std::string, onnx_converter>& to);
void add_shape_converters(std::map<std::string, onnx_converter>& to);
void add_part_converters(std::map<std::string, onnx_converter>& to);
void add_product_converters(std::map<std::string, onnx_converter>& to);
void add_window_converters(std::map<std::string, onnx_converter>& to);
void add_recurrent_converters(std::map<std::string, onnx_converter>& to);
/// These take what is left by those above, whose layers are the readable form.
void add_operation_converters(std::map<std::string, onnx_converter>& to);
void add_activation_operations(std::map<std::string, onnx_converter>& to);
void add_part_operations(std::map<std::string, onnx_converter>& to);
void add_axis_converters(std::map<std::string, onnx_converter>& to);
void add_composed_converters(std::map<std::string, onnx_converter>& to);
void add_recurrent_operations(std::map<std::string, onnx_converter>& to);
void add_index_operations(std::map<std::string, onnx_converter>& to);
void add_control_converters(std::map<std::string, onnx_converter>& to);
void add_microsoft_converters(std::map<std::string, onnx_converter>& to);
void add_made_converters(std::map<std::string, onnx_converter>& to);

/// Writes nodes of onnxruntime's domain as the nodes of ONNX that they stand for.
void expand_microsoft_nodes(onnx_graph& graph);

/// Writes nodes of opsets before 13 as those of opset 13: what were attributes become inputs that are constants.
void upgrade_nodes(onnx_graph& graph);

/// Joins nodes that together are one layer: layer normalization, gelu, swish. Nodes that are then unused are removed.
/// Nodes of different groups are not joined; without a function, all are in one.
[[nodiscard]] onnx_graph with_patterns(onnx_graph graph, std::function<int(std::string const&)> const& group_of = {});

/// Gives dimensions of inputs their lengths, by their names or as input.0, and makes inputs with a value constants.
/// Throws file_error E5231 for an input or a dimension that the graph does not have, and for a length below 1.
void set_dimensions(onnx_graph& graph, std::string const& file, import_options const& options);

/// Inputs of a graph that have no elements.
struct empty_inputs {
  std::vector<std::string> names{};
  bool has_stand_in = false;  ///< true: the graph has no other input, and takes one number that nothing reads
};
/// Makes inputs without elements constants: those whose lengths are all known, one of them after the first being 0. If
/// no input is left, adds one of a single number, since a model has at least one input.
[[nodiscard]] empty_inputs take_empty_inputs(onnx_graph& graph);
/// Prints which inputs are left out.
void tell_empty_inputs(empty_inputs const& found, std::string const& file);
/// Computes a reduction of a constant without elements, to the number that the reduction begins with: 0 for a sum.
/// Returns false for other nodes. Throws unsupported for a mean, and for whole numbers whose type says the result.
[[nodiscard]] bool folds_empty_reduction(onnx_trace& to, onnx_node const& node);

/// The model of a graph. Throws file_error E5063 if the graph is not understood, E5064 with all nodes that the library
/// lacks.
[[nodiscard]] source_model read_onnx(onnx_graph const& graph, std::string const& file, import_options const& options);

}  // namespace stagecraft::tool
