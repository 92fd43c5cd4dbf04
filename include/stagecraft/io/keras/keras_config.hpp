// SPDX-License-Identifier: BSD-3-Clause
// A bundle's description of a model as Keras itself writes it: of Keras 2 for .h5 files and TensorFlow.js, of Keras 3
// for .keras files.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/model_config.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/io/keras/keras_3_calls.hpp>
#include <stagecraft/io/keras/keras_classes.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

enum class keras_version : unsigned char { keras_2, keras_3 };

/// Writes a configuration, and gathers what Keras does not have.
class keras_config_writer {
 public:
  explicit keras_config_writer(keras_version version) : is_3_(version == keras_version::keras_3) {}

  /// The configuration of a model, of which `model.json` of a bundle is `model`. Throws file_error E5043: all that
  /// Keras does not have. `path` is what errors call the file.
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

  /// A model; one that is a struct with a `call` is a functional one to Keras.
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
    // What these do is no part of what a model computes.
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
    if (class_name == "Embedding") config.erase("serialization_factor");  // how it is computed
    for (char const* const key : {"on_host", "converted_from"}) config.erase(key);
    if (class_name == "GroupNormalization") {
      if (config.value("strided_channel_grouping", false))
        problems_.push_back(where + "its groups are strided, those of Keras are blocks of channels");
      config.erase("strided_channel_grouping");
    }
    if (is_3_ && class_name.starts_with("SpatialDropout")) config.erase("trainable");  // refused by some releases
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

  /// What Keras 3, for which there are no IPUs, knows nothing of.
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
