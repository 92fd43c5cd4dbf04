// SPDX-License-Identifier: BSD-3-Clause
// Reads a TensorFlow.js layers-model: model.json and the files of weights beside it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/tensor_bytes.hpp>
#include <stagecraft/io/stored_tensor.hpp>
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

/// A model as TensorFlow.js has it.
struct tfjs_model {
  json config;          ///< Keras's {"class_name", "config"}
  tensor_file weights;  ///< in the order of the files
};

/// Reads model.json that is in memory; `shard(name)` returns the bytes of a file beside it.
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
      // Beside the file, not elsewhere.
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

/// Reads "web/model.json" and the files beside it, of whose bytes no more is kept than they are, four times as many
/// where numbers are packed. Throws file_error: E5001 a file cannot be read, E5068 what is wrong with them. Definition:
/// TensorFlow.js, tfjs-core/src/io/types.ts.
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

}  // namespace stagecraft::io
