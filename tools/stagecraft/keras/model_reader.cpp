// SPDX-License-Identifier: BSD-3-Clause
// Reads Keras's files of whole models: .h5 of Keras 2, and .keras archives.
#include "keras/hdf5_process.hpp"
#include "saved_model/saved_model.hpp"
#include "source/source_model.hpp"
#include "tensorflow/read_tensorflow.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <stagecraft/io/keras/hdf5_content.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/io/tfjs.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

namespace stagecraft::tool {

namespace {

constexpr int deepest = 200;  // nested lists and objects: copying them takes stack

json parse(std::string_view text, std::string const& file, std::string const& place) {
  if (io::is_nested_deeper(text, deepest)) throw file_error("E5063", file + ": " + place + " is nested too deep");
  try {
    return json::parse(text);
  } catch (json::exception const& why) {
    throw file_error("E5063", file + ": " + place + " is no JSON: " + why.what());
  }
}

/// Renames functions of Keras 3 that share a name with other functions of Keras 2; the new names are unknown here.
void rename_functions_of_keras_3(json& config, int depth = 0) {
  if (depth > deepest || !config.is_structured()) return;
  for (auto& [key, value] : config.items()) {
    bool const is_activation = config.is_object() && std::string_view(key).ends_with("activation");
    auto& name = is_activation && value.is_object() && value.contains("config") ? value["config"] : value;
    if (is_activation && name == "hard_sigmoid")
      value = "hard_sigmoid of Keras 3, which is relu6(x + 3) / 6 and not Keras 2's function";
    else
      rename_functions_of_keras_3(value, depth + 1);
  }
}

/// True if a layer names the module of its class, as in Keras 3.
bool names_modules(json const& config, int depth = 0) {
  if (depth > deepest || !config.is_structured()) return false;
  if (config.is_object() && config.contains("module") && config.contains("class_name")) return true;
  for (auto const& each : config)
    if (names_modules(each, depth + 1)) return true;
  return false;
}

/// True if Keras 3 wrote a configuration: it, or the file around it, says so. Releases of Keras 2 from 2.13 on name
/// modules, too, and say which release they are.
bool is_of_keras_3(json const& config, std::optional<std::string> version = std::nullopt) {
  if (!version && config.is_object() && config.contains("keras_version") && config["keras_version"].is_string())
    version = config["keras_version"].get<std::string>();
  return version ? version->starts_with('3') : names_modules(config);
}

/// Reads a file of weights alone, with the model's description from another file.
source_model read_weights_h5(std::string const& path, import_options const& options) {
  io::byte_source const source(options.architecture);
  auto config = parse(io::text_of(source), options.architecture, "it");
  if (is_of_keras_3(config)) rename_functions_of_keras_3(config);
  auto model = read_config(config, options.architecture, options);
  hdf5_process const file(path);
  if (file.has_group("/layers") || file.has_group("/_layer_checkpoint_dependencies"))
    read_keras_weights(file, model);
  else
    read_h5_weights(file, model);
  return model;
}

source_model read_tfjs(std::string const& path, import_options const& options) {
  auto const file = io::read_tfjs(path);
  json config(file.config);
  if (is_of_keras_3(config)) rename_functions_of_keras_3(config);
  auto model = read_config(config, path, options);
  read_tfjs_weights(file.weights, path, model);
  return model;
}

/// Reads TensorFlow.js's model.json, or a whole model in RTNeural's format.
source_model read_json(std::string const& path, import_options const& options) {
  io::byte_source const source(path);
  auto const text = io::text_of(source);
  if (text.find("\"in_shape\"") == std::string_view::npos) return read_tfjs(path, options);
  auto const whole = parse(text, path, "it");
  return is_rtneural(whole) ? read_rtneural(whole, path, options) : read_tfjs(path, options);
}

/// Describes stages, the optimizer and the progress of the training.
void describe_training(io::bundle_contents const& contents, source_model& model) {
  auto const& config = contents.model.at("config");
  if (config.contains("pipeline_stages") && config["pipeline_stages"].is_object())
    for (auto const& [call, stage] : config["pipeline_stages"].items()) {
      auto& text = model.stages[call.substr(0, call.find('['))];  // "dense[1]" is a layer's second call
      text += (text.empty() ? "" : ", ") + stage.dump();
    }
  for (char const* const key : {"optimizer", "loss"})
    if (contents.training.is_object() && contents.training.contains(key) && contents.training[key].is_object())
      model.training.push_back(std::string(key) + ": " + contents.training[key].value("class_name", ""));
  for (auto const& tensor : contents.tensors.tensors)
    for (char const* const counter : {"iterations", "epochs", "learning_rate"})
      if (tensor.name == std::string(io::counter_prefix) + counter && tensor.size() == 1) {
        auto const text = diagnostics::general_digits(static_cast<double>(io::to_floats(tensor)[0]), 6);
        model.training.push_back(std::string(counter) + ": " + text.c_str());
      }
}

/// Reads a folder that save_model has written.
source_model read_bundle(std::string const& path, import_options const& options) {
  auto const folder = io::without_slash(path);
  auto const contents = io::read_contents(folder);
  auto model = read_config(json(contents.model), folder, options);
  read_bundle_weights(contents.tensors, folder, model);
  describe_training(contents, model);
  return model;
}

source_model read_h5(std::string const& path, import_options const& options) {
  if (!options.architecture.empty()) return read_weights_h5(path, options);
  hdf5_process const file(path);
  auto const config = file.text("/", "model_config");
  if (!config)
    throw file_error("E5062", path + ": has no model, " +
                                  (file.texts("/", "layer_names").empty() && !file.has_group("/layers")
                                       ? "only arrays"
                                       : "only the weights of one: write it with model.save, not save_weights, "
                                         "or say with --architecture where model.to_json() is"));
  auto whole = parse(*config, path, "attribute 'model_config'");
  if (is_of_keras_3(whole, file.text("/", "keras_version"))) rename_functions_of_keras_3(whole);
  auto model = read_config(whole, path, options);
  read_h5_weights(file, model);
  return model;
}

/// The most bytes that a file of a model's weights may become: their size in double precision with the numbers of any
/// optimizer, and a margin for names.
std::uint64_t most_weights_bytes(source_model const& model, io::zip_member const& member) {
  constexpr std::uint64_t margin = std::uint64_t{16} << 20, each = 8 * 6, most = std::uint64_t{1} << 50;
  std::uint64_t numbers = 0;
  for_each_weighted_layer(model, "", [&](model_layer const& layer, std::string const&) {
    for (auto const& weight : layer.weights)
      numbers = std::min(most, numbers + io::bytes_of(weight.shape, 1).value_or(most));
  });
  return std::min(io::most_unpacked(member.packed), std::max(member.packed, margin + each * numbers));
}

source_model read_keras(std::string const& path, import_options const& options) {
  io::byte_source const source(path);
  io::zip_reader const archive(source);
  auto const member = [&](std::string_view name) -> io::zip_member const& {
    for (auto const& each : archive.members())
      if (each.name == name) return each;
    throw file_error("E5062", path + ": has no model, since it has no member '" + std::string(name) + "'");
  };
  auto const text = archive.read(member("config.json"), io::most_config_bytes);
  auto config = parse({reinterpret_cast<char const*>(text.data()), text.size()}, path, "member 'config.json'");
  rename_functions_of_keras_3(config);
  auto model = read_config(config, path, options);
  auto const& weights = member("model.weights.h5");
  read_keras_weights(
      hdf5_process(archive.read(weights, most_weights_bytes(model, weights)), path + " (model.weights.h5)"), model);
  return model;
}

source_model read_any(std::string const& path, import_options const& options) {
  auto const ends_with = [&](std::string_view ending) { return path.ends_with(ending); };
  if (!options.architecture.empty() && !ends_with(".h5") && !ends_with(".hdf5"))
    throw file_error("E5209", path + ": --architecture is for .h5 files of weights alone; this one has its model");
  bool const is_graph = ends_with(".pb") || (io::is_folder(path) && is_saved_model(io::without_slash(path)));
  if (!is_graph && (!options.signature.empty() || !options.output_nodes.empty()))
    throw file_error("E5209", path +
                                  (options.signature.empty() ? ": --output-node is for frozen graphs"
                                                             : ": --signature is for SavedModels") +
                                  " of TensorFlow's; this file is none");
  if (ends_with(".keras")) return read_keras(path, options);
  if (ends_with(".h5") || ends_with(".hdf5")) return read_h5(path, options);
  if (ends_with(".json")) return read_json(path, options);
  if (io::is_folder(path)) {
    auto const folder = io::without_slash(path);
    if (is_saved_model(folder)) return read_saved_model(folder, options);
    return io::exists(folder + "/training.json") ? read_bundle(path, options)
                                                 : read_tfjs(folder + "/model.json", options);
  }
  if (ends_with(".onnx")) return read_onnx(path, options);
  if (ends_with(".pb")) return read_frozen_graph(path, options);
  throw file_error("E5042",
                   path + ": the name must end in .h5, .hdf5, .keras, .onnx, .pb or .json, or be a folder of a model");
}

}  // namespace

source_model read_model(std::string const& path, import_options const& options) {
  auto model = read_any(path, options);
  if (options.input_shapes.size() > model.inputs.size())
    throw file_error("E5209", path + ": there are " + std::to_string(options.input_shapes.size()) +
                                  " --input-shape, but the model has " + std::to_string(model.inputs.size()) +
                                  (model.inputs.size() == 1 ? " input" : " inputs"));
  return model;
}

}  // namespace stagecraft::tool
