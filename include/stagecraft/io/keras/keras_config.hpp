// SPDX-License-Identifier: BSD-3-Clause
// Writes a bundle's description of a model as Keras does: as Keras 2 for .h5 files and TensorFlow.js, as Keras 3 for
// .keras files. It knows the classes that Keras has, and writes Keras 2's lists of calls as Keras 3's objects.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/model_config.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The library's layers that Keras 2 has.
inline constexpr std::string_view keras_2_layers =
    "Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention Average AveragePooling1D "
    "AveragePooling2D AveragePooling3D BatchNormalization Bidirectional CategoryEncoding CenterCrop Concatenate Conv1D "
    "Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Cropping1D "
    "Cropping2D Cropping3D Dense DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Flatten GRU "
    "GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
    "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization InputLayer LSTM "
    "LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxPooling1D MaxPooling2D "
    "MaxPooling3D Maximum Minimum MultiHeadAttention Multiply Normalization PReLU Permute RandomContrast "
    "RandomCrop RandomFlip RandomRotation RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape "
    "Resizing SeparableConv1D SeparableConv2D SimpleRNN Softmax SpatialDropout1D SpatialDropout2D "
    "SpatialDropout3D Subtract ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D UpSampling2D "
    "UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D";
/// Classes of Keras 2 that Keras 3 has no longer.
inline constexpr std::string_view not_in_keras_3 = "LocallyConnected1D LocallyConnected2D ThresholdedReLU";
/// The library's initializers, regularizers and constraints that Keras 2 has.
inline constexpr std::string_view keras_2_objects =
    "Zeros Ones Constant RandomNormal RandomUniform TruncatedNormal VarianceScaling GlorotNormal GlorotUniform "
    "HeNormal HeUniform LecunNormal LecunUniform Orthogonal Identity L1 L2 L1L2 MaxNorm MinMaxNorm NonNeg "
    "RadialConstraint UnitNorm";
/// The library's activations that Keras 2 has, and the layers that may replace them.
inline constexpr std::string_view keras_2_activations =
    "linear relu softmax sigmoid tanh gelu swish selu elu exponential softplus softsign hard_sigmoid ReLU ELU";

/// True if a list of names, separated by single blanks, has this one.
[[nodiscard]] constexpr bool lists(std::string_view names, std::string_view name) noexcept {
  while (!names.empty()) {
    auto const blank = names.find(' ');
    if (names.substr(0, blank) == name) return true;
    names.remove_prefix(blank == std::string_view::npos ? names.size() : blank + 1);
  }
  return false;
}

/// Knows the tensors of a model by their layers.
class keras_3_calls {
 public:
  /// `layers` are the entries of the model's layers, with the shapes of their outputs.
  explicit keras_3_calls(json const& layers) {
    for (auto const& each : layers) {
      auto const name = each.at("config").value("name", "");
      auto const shapes = each.find(output_shapes_key);
      if (shapes != each.end())
        shapes_[name] = *shapes;
      else if (each["config"].contains("batch_input_shape"))
        shapes_[name] = json::array({json::array({each["config"]["batch_input_shape"]})});
      auto const& config = each["config"];
      // In Keras 2, a model has a node of its own before the nodes of its calls.
      first_node_[name] = config.contains("layers") && has_own_node(each) ? 1 : 0;
    }
  }

  /// Writes the model's inputs or outputs, [[name, node, output], ...].
  [[nodiscard]] json write_ends(json ends) const {
    for (auto& end : ends) end[1] = call_of(end.at(0).get<std::string>(), end.at(1).get<int>());
    return ends;
  }

  /// Writes the calls of a layer.
  [[nodiscard]] json write(json const& nodes) const {
    auto result = json::array();
    for (auto const& node : nodes) {
      auto inputs = json::array();
      auto keywords = json::object();
      for (auto const& input : node) {
        inputs.push_back(tensor(input));
        if (input.size() > 3) keywords.update(input[3]);
      }
      for (auto& [key, value] : keywords.items())
        if (value.is_array() && value.size() == 3 && value[0].is_string()) value = tensor(value);
      json const given = inputs.size() == 1 ? inputs[0] : inputs;
      result.push_back({{"args", json::array({given})}, {"kwargs", std::move(keywords)}});
    }
    return result;
  }

 private:
  /// True for models with a node of their own; a sequential model has one if it begins with an input.
  static bool has_own_node(json const& entry) {
    auto const& layers = entry["config"]["layers"];
    return entry.at("class_name") != "Sequential" || (!layers.empty() && layers[0].at("class_name") == "InputLayer");
  }

  [[nodiscard]] json tensor(json const& from) const {
    auto const name = from.at(0).get<std::string>();
    auto const node = from.at(1).get<int>(), output = from.at(2).get<int>();
    auto const call = call_of(name, node);
    auto const shapes = shapes_.find(name);
    if (shapes == shapes_.end() || call < 0) throw_no_tensor(name);
    auto const& shape = shapes->second.at(static_cast<std::size_t>(call)).at(static_cast<std::size_t>(output));
    return {{"class_name", "__keras_tensor__"},
            {"config", {{"shape", shape}, {"dtype", "float32"}, {"keras_history", json::array({name, call, output})}}}};
  }
  [[nodiscard]] int call_of(std::string const& name, int node) const {
    auto const first = first_node_.find(name);
    return node - (first == first_node_.end() ? 0 : first->second);
  }
  [[noreturn]] static void throw_no_tensor(std::string const& name) {
    refuse("E5030", "model.json", "a call takes an output of '" + name + "', which has none");
  }

  std::map<std::string, json> shapes_;
  std::map<std::string, int> first_node_;
};

enum class keras_version : unsigned char { keras_2, keras_3 };

/// Writes a configuration, and collects the classes and options that Keras lacks.
class keras_config_writer {
 public:
  explicit keras_config_writer(keras_version version) : is_3_(version == keras_version::keras_3) {}

  /// The configuration of a model; `model` is the bundle's model.json. Throws file_error E5043 with everything that
  /// Keras lacks; errors call the file `path`.
  [[nodiscard]] json write(json const& model, std::string const& path) {
    auto result = write_model(model);
    if (problems_.empty()) return result;
    std::string text = std::string("Keras ") + (is_3_ ? "3" : "2") + " has not what this model has:";
    for (auto const& each : problems_) text += "\n  " + each;
    refuse("E5043", path, text);
  }

 private:
  static bool is_model(json const& entry) {
    return entry.at("config").contains("layers") && entry["config"]["layers"].is_array();
  }

  /// Writes a model. A struct with a `call` is a functional model in Keras.
  json write_model(json const& entry) {
    bool const is_sequential = entry.at("class_name") == "Sequential";
    json config = entry.at("config");
    if (is_3_)
      for (char const* const key : graphcore_keys) config.erase(key);
    auto layers = json::array();
    keras_3_calls const calls(config.at("layers"));
    for (auto const& each : config["layers"]) {
      auto written = is_model(each) ? write_model(each) : write_layer(each);
      if (each.contains("name")) written["name"] = each["name"];
      if (each.contains("inbound_nodes"))
        written["inbound_nodes"] = is_3_ ? calls.write(each["inbound_nodes"]) : each["inbound_nodes"];
      layers.push_back(std::move(written));
    }
    config["layers"] = std::move(layers);
    for (char const* const ends : {"input_layers", "output_layers"})
      if (is_3_ && config.contains(ends)) config[ends] = calls.write_ends(config[ends]);
    char const* const class_name = is_sequential ? "Sequential" : "Functional";
    if (!is_3_) return json_of_class(class_name, std::move(config));
    return object(is_sequential ? "keras" : "keras.src.models.functional", class_name, std::move(config));
  }

  json write_layer(json const& entry) {
    auto class_name = entry.at("class_name").get<std::string>();
    json config = entry.at("config");
    auto const name = config.value("name", "");
    // These layers pass their input on: they are no part of what a model computes.
    if (class_name == "RecomputationCheckpoint" || class_name == "CaptureUpstreamGradients") {
      class_name = "Activation";
      config["activation"] = "linear";
    }
    if (!lists(keras_2_layers, class_name) || (is_3_ && lists(not_in_keras_3, class_name)))
      problems_.push_back("layer '" + name + "' is a " + class_name);
    else
      write_options(class_name, config, "layer '" + name + "': ");
    if (is_3_ && class_name == "InputLayer") {
      config["batch_shape"] = config["batch_input_shape"];
      config.erase("batch_input_shape");
    }
    if (!is_3_) return json_of_class(class_name, std::move(config));
    return object("keras.layers", class_name, std::move(config));
  }

  void write_options(std::string_view class_name, json& config, std::string const& where) {
    // An option of the computation, not of the model.
    if (class_name == "Embedding") config.erase("serialization_factor");
    for (char const* const key : {"on_host", "converted_from"}) config.erase(key);
    if (class_name == "GroupNormalization") {
      if (config.value("strided_channel_grouping", false))
        problems_.push_back(where + "its groups are strided, those of Keras are blocks of channels");
      config.erase("strided_channel_grouping");
    }
    if (is_3_ && class_name.starts_with("SpatialDropout")) config.erase("trainable");  // some releases refuse the key
    if (is_3_ && class_name == "LeakyReLU") rename(config, "alpha", "negative_slope");
    if (is_3_)
      for (char const* const key :
           {"query_shape", "key_shape", "value_shape", "causal", "time_major", "implementation"}) {
        if (std::string_view(key) == "causal" && config.value(key, false))
          problems_.push_back(where + "causal is an argument of its calls there");
        config.erase(key);
      }
    for (auto& [key, value] : config.items()) {
      std::string_view const of = key;
      if (of == "layer" || of == "backward_layer") {
        value = write_layer(value);
      } else if (of.ends_with("activation")) {
        write_activation(value, where + key);
      } else if (value.is_object() && value.contains("class_name")) {
        write_object(value, of, where + key);
      }
    }
  }

  void write_activation(json& value, std::string const& where) {
    auto const class_name = value.is_string() ? value.get<std::string>() : value.value("class_name", "");
    bool const has_options = value.is_object();
    if (!lists(keras_2_activations, class_name) || (has_options && class_name == "gelu"))
      problems_.push_back(where + " is " + value.dump());
    if (is_3_ && class_name == "hard_sigmoid")
      problems_.push_back(where + " is hard_sigmoid, which is another function there");
    if (is_3_ && has_options) value = object("keras.layers", class_name, value.at("config"));
    if (is_3_ && class_name == "swish" && !has_options) value = "silu";
  }

  void write_object(json& value, std::string_view key, std::string const& where) {
    auto const class_name = value["class_name"].get<std::string>();
    if (!lists(keras_2_objects, class_name) || (is_3_ && class_name == "RadialConstraint")) {
      problems_.push_back(where + " is " + class_name);
      return;
    }
    if (!is_3_) return;
    char const* const module = key.ends_with("regularizer")  ? "keras.regularizers"
                               : key.ends_with("constraint") ? "keras.constraints"
                                                             : "keras.initializers";
    value = object(module, class_name, value.at("config"));
  }

  static json object(char const* module, std::string const& class_name, json config) {
    return {{"module", module},
            {"class_name", class_name},
            {"config", std::move(config)},
            {"registered_name", class_name == "Functional" ? json("Functional") : json()}};
  }
  static void rename(json& config, char const* from, char const* to) {
    if (auto const found = config.find(from); found != config.end()) {
      config[to] = *found;
      config.erase(from);
    }
  }

  /// Graphcore's keys, which Keras 3 does not know.
  static constexpr char const* graphcore_keys[]{"gradient_accumulation_steps_per_replica",
                                                "gradient_accumulation_reduction_method",
                                                "replicated_metric_reduction_method",
                                                "asynchronous_callbacks",
                                                "pipelining_gradient_accumulation_steps_per_replica",
                                                "pipelining_accumulate_outfeed",
                                                "pipelining_device_mapping",
                                                "infeed_kwargs",
                                                "outfeed_kwargs",
                                                "pipeline_stage_assignment",
                                                "pipeline_stage_assignment_valid",
                                                "pipeline_stages"};

  bool is_3_;
  std::vector<std::string> problems_;
};

/// A bundle's model as Keras writes it. Throws file_error E5043.
[[nodiscard]] inline json keras_config(json const& model, keras_version version, std::string const& path) {
  try {
    return keras_config_writer(version).write(model, path);
  } catch (nlohmann::json::exception const& problem) {
    refuse("E5030", path, std::string("the model's description is not that of a bundle: ") + problem.what());
  }
}

}  // namespace stagecraft::io
