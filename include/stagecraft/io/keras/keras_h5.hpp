// SPDX-License-Identifier: BSD-3-Clause
// Writes models as Keras 2 saves them in HDF5 files, and as Keras 3 saves them in archives.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <stagecraft/io/keras/hdf5_writer.hpp>
#include <stagecraft/io/keras/keras_config.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <stagecraft/io/keras/write_keras_training.hpp>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stagecraft::io {

/// Adds Keras 2's groups of weights, one for each layer of the outermost model.
inline void add_keras_2_weights(hdf5_writer& file, std::string const& group, bundle_contents const& contents,
                                std::string const& path) {
  auto const tree = layers_of(contents, path);
  auto const begin = group.empty() ? group : group + "/";
  std::vector<std::string> names;
  for (auto const& layer : tree.root().layers) {
    if (layer.class_name == "InputLayer" && contents.model.at("class_name") == "Sequential") continue;
    names.push_back(layer.name);
  }
  file.add_texts(group, "layer_names", names);
  file.add_text(group, "backend", "tensorflow");
  file.add_text(group, "keras_version", written_keras_2);
  for (auto const& layer : tree.root().layers) {
    if (layer.class_name == "InputLayer" && contents.model.at("class_name") == "Sequential") continue;
    std::vector<keras_weight const*> all, ordered;
    layer.append_weights(all);
    for (bool const trained : {true, false})
      for (auto const* each : all)
        if (each->trainable == trained) ordered.push_back(each);
    std::set<std::string> used;
    std::vector<std::string> weight_names;
    for (auto const* each : ordered) {
      // Two models inside this one may have layers with the same name.
      bool const is_free = used.insert(each->keras_2).second;
      weight_names.push_back(is_free ? each->keras_2 : each->path);
    }
    file.add_texts(begin + layer.name, "weight_names", weight_names);
    for (std::size_t i = 0; i < ordered.size(); ++i)
      file.add_array(begin + layer.name + "/" + weight_names[i], values_of(contents, *ordered[i], path));
  }
  file.add_texts(begin + "top_level_model_weights", "weight_names", {});
}

/// Adds Keras 3's groups, one for each layer, which are named after classes and numbered.
inline void add_keras_3_weights(hdf5_writer& file, keras_layer const& layer, bundle_contents const& contents,
                                std::string const& path) {
  file.add_text((layer.group.empty() ? "" : layer.group + "/") + "vars", "name", layer.name);
  for (auto const& weight : layer.weights) file.add_array(weight.keras_3, values_of(contents, weight, path));
  for (auto const& each : layer.layers) add_keras_3_weights(file, each, contents, path);
}

[[nodiscard]] inline std::vector<std::byte> keras_3_weights(bundle_contents const& contents, std::string const& path) {
  hdf5_writer file(path);
  auto const tree = layers_of(contents, path);
  add_keras_3_weights(file, tree.root(), contents, path);
  auto const training = keras_training_of(contents, keras_version::keras_3);
  if (!training.config.is_null()) {
    std::vector<keras_weight const*> weights;
    tree.root().append_weights(weights);
    add_keras_3_optimizer(file, contents, training, weights);
  }
  return file.finish();
}

inline void write_bytes(std::string const& path, std::span<std::byte const> bytes) {
  replace_file(path, [&](file_writer& to) { to.write(bytes); });
}

/// The bytes of a .h5 file of Keras 2. Throws file_error E5043 with everything that Keras 2 lacks, E5030 if it is no
/// bundle.
[[nodiscard]] inline std::vector<std::byte> keras_h5_of(bundle_contents const& contents, std::string const& path) {
  hdf5_writer file(path);
  auto const config = keras_config(contents.model, keras_version::keras_2, path);
  file.add_text("", "backend", "tensorflow");
  file.add_text("", "keras_version", written_keras_2);
  file.add_text("", "model_config", config.dump());
  auto const training = keras_training_of(contents, keras_version::keras_2);
  if (!training.config.is_null()) file.add_text("", "training_config", training.config.dump());
  add_keras_2_weights(file, "model_weights", contents, path);
  if (!training.config.is_null()) {
    auto const tree = layers_of(contents, path);
    std::vector<keras_weight const*> weights;
    tree.root().append_weights(weights);
    add_keras_2_optimizer(file, contents, training, weights);
  }
  return file.finish();
}

/// The bytes of a .keras archive. Throws file_error E5043 with everything that Keras 3 lacks, E5030 if it is no bundle.
[[nodiscard]] inline std::vector<std::byte> keras_archive_of(bundle_contents const& contents, std::string const& path) {
  json const metadata{{"keras_version", written_keras_3}, {"date_saved", "1980-01-01@00:00:00"}};
  auto const metadata_text = metadata.dump();
  auto model = keras_config(contents.model, keras_version::keras_3, path);
  if (auto training = keras_training_of(contents, keras_version::keras_3); !training.config.is_null())
    model["compile_config"] = std::move(training.config);
  auto const config = model.dump();
  auto const weights = keras_3_weights(contents, path);
  zip_writer archive(path);
  archive.add("metadata.json", metadata_text, {});
  archive.add("config.json", config, {});
  archive.add("model.weights.h5", {reinterpret_cast<char const*>(weights.data()), weights.size()}, {});
  return archive.finish();
}

/// Writes the file of Keras 2's `model.save("digits.h5")`, with the optimizer and its numbers if Keras has it, too
/// (keras_training_of says why not).
inline void write_keras_h5(std::string const& path, bundle_contents const& contents) {
  write_bytes(path, keras_h5_of(contents, path));
}

/// Writes the file of Keras 3's `model.save_weights("digits.weights.h5")`, with the optimizer's numbers.
inline void write_keras_weights_h5(std::string const& path, bundle_contents const& contents) {
  write_bytes(path, keras_3_weights(contents, path));
}

/// Writes the file of Keras 3's `model.save("digits.keras")`, with the optimizer and its numbers if Keras has it, too.
inline void write_keras_archive(std::string const& path, bundle_contents const& contents) {
  write_bytes(path, keras_archive_of(contents, path));
}

}  // namespace stagecraft::io
