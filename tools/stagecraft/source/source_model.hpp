// SPDX-License-Identifier: BSD-3-Clause
// A model that was read from a file: its layers, their calls in an order in which they can be made, and weights.
#pragma once

#include "source/source_layer.hpp"

#include <stagecraft/io/keras/hdf5_content.hpp>
#include <stagecraft/io/stored_tensor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

using io::stored_array;

struct source_model;

/// A whole number as an index of a vector.
[[nodiscard]] constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// An output of a call; a layer has only one.
struct source_tensor {
  int call = 0;
  int output = 0;

  friend bool operator==(source_tensor const&, source_tensor const&) = default;
};

/// One layer: an input, a layer of the library, or a model inside this one.
struct model_layer {
  std::string name, class_name;
  bool is_input = false;
  std::unique_ptr<source_layer> layer;   ///< null for inputs, models, and layers that the library lacks
  std::unique_ptr<source_model> nested;  ///< the model, if it is one
  std::vector<expected_weight> weights;  ///< weights of a layer, in Keras's order
  std::vector<stored_array> values;      ///< values of the weights in the file
  int calls = 0;
  json config;                       ///< its options, as in the file
  json call_options;                 ///< keyword arguments of its first call
  bool is_of_operators = false;      ///< true: made of operations on tensors, with its weights, in a file of Keras
  std::vector<std::string> nodes{};  ///< names of the file's nodes that the layer was made of, in files of nodes
};

/// The type of an input whose numbers must be exact: int32, for inputs that `convert` has made of int64; otherwise
/// none. Throws file_error E5064 for any other type in the file.
[[nodiscard]] std::optional<dtype> input_type(model_layer const& input);

/// One call of a layer.
struct source_call {
  int layer = 0;
  std::vector<source_tensor> inputs;
  std::vector<std::optional<shape>> outputs;  ///< shapes; unknown after layers that the library lacks
};

/// What stands in `input_axes` for the number in the place of an input without elements.
inline constexpr int unread_axis = -3;

/// A model.
struct source_model {
  std::string name;
  bool is_sequential = false;
  int batch_size = 0;               ///< samples of a batch in a model with stateful layers; otherwise 0
  std::vector<model_layer> layers;  ///< layers in the file's order
  std::vector<source_call> calls;   ///< calls, each after those whose outputs it takes
  std::vector<int> inputs;          ///< calls of inputs, in the model's order
  std::vector<source_tensor> outputs;
  /// For each input and output, the file's axis for each axis here, samples included, if the two differ: ONNX puts
  /// channels first. Empty for files of Keras.
  std::vector<std::vector<int>> input_axes, output_axes;
  std::vector<std::string> output_names;  ///< names of the outputs in a signature; empty: the file has none
  /// Names in the file of nodes that are in no layer, such as constants.
  std::vector<std::string> other_nodes;
  std::map<std::string, std::string>
      stages;                         ///< a bundle's stages by the paths of layers: "0", or "0, 1" for two calls
  std::vector<std::string> training;  ///< a bundle's training, described line by line

  [[nodiscard]] model_layer const& layer_of(source_call const& call) const {
    return layers[static_cast<std::size_t>(call.layer)];
  }
};

/// Options of an import, besides the file.
struct import_options {
  std::vector<std::vector<int>> input_shapes;  ///< shapes of inputs for which the file has None
  std::vector<std::string> dimensions;         ///< an ONNX file's lengths by name, "batch=1", or "input.0=1"
  std::vector<std::string> input_values;       ///< an ONNX file's inputs that are constants, "rate=16000"
  std::string architecture;                    ///< for a file of weights alone: the file that `model.to_json` wrote
  std::string signature{};                     ///< signature of a SavedModel; empty: serving_default
  std::vector<std::string> output_nodes{};     ///< nodes that are the outputs of a frozen graph
  bool int64_to_int32 = false;                 ///< an ONNX file's whole numbers are all within int32
  /// Nodes of different groups are not made into one layer; null: all are in one group.
  std::function<int(std::string const& node)> group_of{};
};

/// Makes the layer of a configuration, as make_layer does.
using layer_maker = std::function<std::unique_ptr<source_layer>(layer_config const& config)>;

/// Reads the model of a configuration, Keras 2's or that of a .keras file. Throws file_error E5063 for a configuration
/// of something else than a model with layers, E5064 with all layers and options that the library lacks.
[[nodiscard]] source_model read_config(json const& config, std::string const& file, import_options const& options,
                                       layer_maker const& make = make_layer);

/// A model and its weights from a Keras 2 .h5, a .keras file, a TensorFlow.js folder's model.json, RTNeural's JSON, a
/// SavedModel's folder, or a bundle. Throws the errors of read_config, and file_error E5001, E5015, E5061 and E5100 to
/// E5102 if the file cannot be read, E5062 if it has no model, E5065 for weights that are missing or of other shapes.
[[nodiscard]] source_model read_model(std::string const& path, import_options const& options = {});

/// Reads the model of an ONNX file. Throws the errors of read_config, and file_error E5001 and E5067 if the file cannot
/// be read.
[[nodiscard]] source_model read_onnx(std::string const& path, import_options const& options);

/// True for the content of a JSON file in RTNeural's format.
[[nodiscard]] bool is_rtneural(json const& whole);
/// Reads a model in RTNeural's format. Throws the errors of read_config, and file_error E5065 and E5205 for its
/// weights.
[[nodiscard]] source_model read_rtneural(json const& whole, std::string const& file, import_options const& options);

/// Reads the values of all weights. Errors are those of read_model.
void read_h5_weights(io::hdf5_content const& file, source_model& model);
void read_keras_weights(io::hdf5_content const& file, source_model& model);
void read_tfjs_weights(tensor_file const& weights, std::string const& file, source_model& model);
void read_bundle_weights(tensor_file const& weights, std::string const& file, source_model& model);

/// Calls `visit(layer, path)` for each layer with weights, `path` being the names of the models that it is in.
template <class Model, class Visit>
void for_each_weighted_layer(Model& model, std::string const& path, Visit const& visit) {
  for (auto& layer : model.layers) {
    if (layer.nested) for_each_weighted_layer(*layer.nested, path + layer.name + "/", visit);
    if (!layer.weights.empty()) visit(layer, path);
  }
}

/// All weights under the library's names.
[[nodiscard]] tensor_file weights_of(source_model const& model);

}  // namespace stagecraft::tool
