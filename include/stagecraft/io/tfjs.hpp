// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes layers-models of TensorFlow.js: a folder with model.json, which has Keras 2's configuration and the
// list of weights, and files with the bytes of the weights.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <stagecraft/io/keras/keras_config.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// A layers-model of TensorFlow.js.
struct tfjs_model {
  json config;          ///< Keras's {"class_name", "config"}
  tensor_file weights;  ///< in the order of the files
};

/// Reads model.json from memory; `shard(name)` returns the bytes of a file beside it.
class tfjs_reader {
 public:
  using shard_reader = std::function<std::vector<std::byte>(std::string const& name)>;

  tfjs_reader(std::string path, shard_reader shard) : path_(std::move(path)), shard_(std::move(shard)) {}

  [[nodiscard]] tfjs_model read(std::string_view text) const {
    json whole;
    try {
      whole = parse_json(text, path_);
    } catch (file_error const& why) {
      wrong(why.what());
    }
    if (!whole.is_object() || !whole.contains("modelTopology") || !whole["modelTopology"].is_object())
      wrong("it has no 'modelTopology'");
    if (whole.value("format", json("layers-model")) != json("layers-model"))
      wrong("it is a " + whole["format"].dump() + ", which has no layers; a layers-model has");
    auto const& topology = whole["modelTopology"];
    tfjs_model result{topology.contains("model_config") ? topology["model_config"] : topology, {}};
    auto const groups = whole.find("weightsManifest");
    if (groups == whole.end()) return result;
    if (!groups->is_array()) wrong("its 'weightsManifest' is no list");
    std::set<std::string> files;
    for (auto const& group : *groups) read_group(group, files, result.weights);
    return result;
  }

 private:
  [[noreturn]] void wrong(std::string const& what) const { refuse("E5068", path_, what); }

  void read_group(json const& group, std::set<std::string>& files, tensor_file& to) const {
    if (!group.is_object() || !group.contains("paths") || !group["paths"].is_array() || !group.contains("weights") ||
        !group["weights"].is_array())
      wrong("a group of its weights has no lists of 'paths' and 'weights'");
    std::vector<std::byte> bytes;
    for (auto const& name : group["paths"]) {
      // A file of weights must be beside model.json.
      if (!name.is_string() || name.get_ref<std::string const&>().empty() || name == ".." || name == "." ||
          name.get_ref<std::string const&>().find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
        wrong("a file of its weights is called " + name.dump(-1, ' ', true, json::error_handler_t::replace));
      if (!files.insert(name.get<std::string>()).second) wrong("it names the file " + name.dump() + " twice");
      auto const part = shard_(name.get<std::string>());
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    std::size_t at = 0;
    for (auto const& entry : group["weights"]) to.tensors.push_back(read_weight(entry, bytes, at));
    if (at != bytes.size())
      wrong("its files of weights have " + std::to_string(bytes.size()) + " bytes, the weights " + std::to_string(at));
  }

  [[nodiscard]] stored_tensor read_weight(json const& entry, std::span<std::byte const> bytes, std::size_t& at) const {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() || !entry.contains("shape") ||
        !entry["shape"].is_array() || !entry.contains("dtype") || !entry["dtype"].is_string())
      wrong("a weight lacks 'name', 'shape' or 'dtype'");
    auto const name = entry["name"].get<std::string>();
    std::vector<std::int64_t> shape;
    for (auto const& length : entry["shape"]) {
      if (!length.is_number_unsigned() || length.get<std::uint64_t>() > (std::uint64_t{1} << 62))
        wrong("weight '" + name + "' has a shape that is none");
      shape.push_back(length.get<std::int64_t>());
    }
    auto const quantization = entry.find("quantization");
    bool const is_packed = quantization != entry.end() && quantization->is_object();
    auto const& type_name = is_packed ? quantization->value("dtype", json()) : json(entry["dtype"]);
    auto const type = type_name.is_string()
                          ? find_element_type<&element_type_facts::name>(type_name.get_ref<std::string const&>())
                          : std::nullopt;
    if (!type) wrong("weight '" + name + "' has elements of type " + type_name.dump() + ", which are not read");
    auto const size = bytes_of(shape, size_of(*type));
    if (!size || *size > bytes.size() - at)
      wrong("weight '" + name + "' of shape " + shape_text(shape) + " takes more bytes than its files have");
    auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    stored_tensor tensor{name, *type, shape, {first, first + static_cast<std::ptrdiff_t>(*size)}};
    at += static_cast<std::size_t>(*size);
    if (!is_packed || is_floating(*type)) return tensor;
    // x = q * scale + min
    auto const scale = quantization->find("scale"), least = quantization->find("min");
    if (scale == quantization->end() || least == quantization->end() || !scale->is_number() || !least->is_number())
      wrong("weight '" + name + "' is quantized without 'scale' and 'min'");
    auto values = to_floats(tensor);
    for (auto& value : values)
      value = narrowed(static_cast<double>(value) * scale->get<double>() + least->get<double>(), [&] {
        return path_ + ": weight '" + name + "'" + place_text(shape, static_cast<std::size_t>(&value - values.data()));
      });
    return float_tensor(name, shape, values);
  }

  std::string path_;
  shard_reader shard_;
};

/// Reads "web/model.json" and the files beside it. Takes as much memory as the files have bytes, and four times as much
/// for packed numbers. Throws file_error: E5001 a file cannot be read, E5068 the files are damaged or unknown.
/// Definition: TensorFlow.js, tfjs-core/src/io/types.ts.
[[nodiscard]] inline tfjs_model read_tfjs(std::string const& path) {
  auto const slash = path.rfind('/');
  auto const folder = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  byte_source const source(path);
  auto const text = source.read(0, source.size());
  return tfjs_reader(path,
                     [&](std::string const& name) {
                       byte_source const shard(folder + name);
                       return shard.read(0, shard.size());
                     })
      .read({reinterpret_cast<char const*>(text.data()), text.size()});
}

/// The most bytes of a file of weights, as the converter has it: the most that browsers cache.
inline constexpr std::size_t tfjs_shard_bytes = std::size_t{4} << 20;

/// The folder of a path: "web/" for "web/model.json", "web/" or "web".
[[nodiscard]] inline std::string tfjs_folder(std::string const& path) {
  constexpr std::string_view name = "model.json";
  if (path == name || path.ends_with("/model.json")) return path.substr(0, path.size() - name.size());
  return path.ends_with("/") ? path : path + "/";
}

/// Writes a bundle as a `layers-model`, which `tf.loadLayersModel("web/model.json")` reads: weights in float32, in
/// files of at most 4 MB. `path` is "web/model.json" or "web/", a folder that exists or is made. The optimizer is left
/// out. Throws file_error: E5041 a file cannot be written, E5043 the model has something that Keras 2 lacks. Files of a
/// former model are replaced one after the other, model.json last. Definition: TensorFlow.js, tfjs-core/src/io/types.ts
/// (ModelJSON, WeightsManifestConfig).
inline void write_tfjs(std::string const& path, bundle_contents const& contents) {
  auto const folder = tfjs_folder(path);
  auto const tree = layers_of(contents, path);
  std::vector<keras_weight const*> weights;
  tree.root().append_weights(weights);
  auto entries = json::array();
  std::vector<std::byte> bytes;
  for (auto const* each : weights) {
    auto const& tensor = values_of(contents, *each, path);
    auto name = each->keras_2;
    if (name.ends_with(":0")) name.resize(name.size() - 2);
    entries.push_back({{"name", name}, {"shape", tensor.shape}, {"dtype", "float32"}});
    auto const from = float_tensor(name, tensor.shape, to_floats(tensor)).bytes;
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  json const model{{"format", "layers-model"},
                   {"generatedBy", std::string("keras v") + written_keras_2},
                   {"convertedBy", "stagecraft v" + std::to_string(version_major) + "." +
                                       std::to_string(version_minor) + "." + std::to_string(version_patch)},
                   {"modelTopology",
                    {{"keras_version", written_keras_2},
                     {"backend", "tensorflow"},
                     {"model_config", keras_config(contents.model, keras_version::keras_2, path)}}},
                   {"weightsManifest", json::array()}};
  if (!folder.empty() && files::make_folder(folder) != 0 && errno != EEXIST)
    refuse_writing(folder, "make a folder there");
  auto const count = std::max<std::size_t>((bytes.size() + tfjs_shard_bytes - 1) / tfjs_shard_bytes, 1);
  auto names = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    auto const name = "group1-shard" + std::to_string(i + 1) + "of" + std::to_string(count) + ".bin";
    auto const first = i * tfjs_shard_bytes;
    replace_file(folder + name, [&](file_writer& to) {
      to.write(std::span(bytes).subspan(first, std::min(tfjs_shard_bytes, bytes.size() - first)));
    });
    names.push_back(name);
  }
  json whole = model;
  whole["weightsManifest"].push_back({{"paths", std::move(names)}, {"weights", std::move(entries)}});
  replace_file(folder + "model.json", [&](file_writer& to) { to.write(whole.dump() + "\n"); });
}

}  // namespace stagecraft::io
