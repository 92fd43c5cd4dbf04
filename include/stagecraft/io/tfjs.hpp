// SPDX-License-Identifier: BSD-3-Clause
// Models for TensorFlow.js: a folder with model.json, which has Keras 2's configuration and the list of weights, and
// files of their bytes.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/keras/bundle_layers.hpp>
#include <stagecraft/io/keras/keras_config.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace stagecraft::io {

/// The converter's size of a file of weights: what browsers keep.
inline constexpr std::size_t tfjs_shard_bytes = std::size_t{4} << 20;

/// "web/" of "web/model.json", "web/" or "web".
[[nodiscard]] inline std::string tfjs_folder(std::string const& path) {
  constexpr std::string_view name = "model.json";
  if (path == name || path.ends_with("/model.json")) return path.substr(0, path.size() - name.size());
  return path.ends_with("/") ? path : path + "/";
}

/// Writes a bundle as a `layers-model`, which `tf.loadLayersModel("web/model.json")` reads: weights in float32, in
/// files of at most 4 MB. `path` is "web/model.json" or "web/", a folder that is there or is made. Without the
/// optimizer. Throws file_error: E5041 a file cannot be written, E5043 the model has something that Keras 2 has not.
/// Files of a former model are replaced one after the other, model.json last. Definition: TensorFlow.js,
/// tfjs-core/src/io/types.ts (ModelJSON, WeightsManifestConfig).
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
    auto const values = to_floats(tensor);
    auto const from = std::as_bytes(std::span(values));
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
  if (!folder.empty() && ::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
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
