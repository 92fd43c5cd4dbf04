// SPDX-License-Identifier: BSD-3-Clause
// Reads the weights of Keras's files for `load_weights`: Keras 2's .h5, by the names of layers, and Keras 3's
// .weights.h5 and .keras.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/keras_positions.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <stagecraft/io/keras/hdf5_file.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Collects the arrays of a layer in a file of Keras 3, in Keras's order.
inline void collect_keras_3_arrays(hdf5_content const& file, std::string const& group, int depth,
                                   std::vector<std::string>& to) {
  // A file has layers inside a layer in alphabetical order, not in the order of the weights.
  static constexpr std::array order{"query_dense",  "key_dense",     "value_dense",
                                    "output_dense", "forward_layer", "backward_layer"};
  constexpr int deepest = 8;
  if (depth > deepest) file.damaged(group, "has groups that are nested too deep");
  auto names = file.children(group);
  auto const rank = [&](std::string const& name) {
    auto const found = std::find(order.begin(), order.end(), name);
    // Arrays are sorted by number, so that 10 comes after 9.
    bool const is_number = !name.empty() && name.size() < 6 &&
                           std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    return std::pair(found - order.begin(), is_number ? std::stoi(name) : -1);
  };
  std::sort(names.begin(), names.end(),
            [&](auto const& a, auto const& b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
  for (auto const& name : names) {
    auto const path = group + "/" + name;
    if (name == "seed_generator" || name == "_seed_generators") continue;
    if (file.has_array(path))
      to.push_back(path);
    else
      collect_keras_3_arrays(file, path, depth + 1, to);
  }
}

/// The cell of an array's place in a StackedRNNCells of Keras 3, by class and number: "*cells/lstm_cell_1/" of
/// "layers/rnn/cell/cells/lstm_cell_1/vars/0". Empty for other arrays.
[[nodiscard]] inline std::string stacked_cell_of(std::string_view path) {
  static constexpr std::string_view place = "/cell/cells/";
  auto const found = path.find(place);
  if (found == path.npos) return {};
  auto const begin = found + place.size(), end = path.find('/', begin);
  return end == path.npos ? std::string() : std::string(stacked_cells).append(path, begin, end + 1 - begin);
}

/// Throws E5221 for an array of a convolution that Keras on Theano saved, whose kernels are turned by 180 degrees.
inline void check_backend(hdf5_content const& file, std::string const& base, stored_array const& array) {
  if (array.shape.size() < 3) return;
  auto const backend = file.text(base, "backend");
  if (backend && *backend == "theano")
    throw file_error("E5221", file.name() + ": '" + array.name +
                                  "' is a kernel of Keras on Theano, which turns them: load the weights in Keras 2 on "
                                  "TensorFlow, and save them there");
}

/// Reads arrays into tensors that name_keras_weights names.
class keras_weights_reader {
 public:
  explicit keras_weights_reader(hdf5_content const& file) : file_(file) {
    result_.metadata.emplace_back(keras_positions, "");
  }

  /// Reads a file of Keras 2: groups of layers, each with the names of its weights.
  [[nodiscard]] tensor_file read_keras_2() {
    std::string const base = file_.has_group("/model_weights") ? "/model_weights" : "/";
    auto layers = file_.texts(base, "layer_names");
    layers.emplace_back("top_level_model_weights");  // weights of the model itself
    for (auto const& layer : layers) {
      auto const group = base + (base == "/" ? "" : "/") + layer;
      for (auto const& name : file_.texts(group, "weight_names")) add(layer, name, group + "/" + name, base.c_str());
    }
    return std::move(result_);
  }

  /// Reads a file of Keras 3: groups by class, in which newer releases state the names of the layers.
  [[nodiscard]] tensor_file read_keras_3() {
    walk("", "", 0);
    return std::move(result_);
  }
  /// Reads the weights of a file of Keras 3 under the names of a configuration.
  [[nodiscard]] tensor_file read_keras_3(keras_layer const& layer) {
    add_layers(layer);
    return std::move(result_);
  }

 private:
  /// Reads an array. `base`: the group that names the backend of Keras 2; null for Keras 3.
  void add(std::string const& layer, std::string const& name, std::string const& path, char const* base = nullptr) {
    auto array = file_.array(path);
    if (base != nullptr) check_backend(file_, base, array);
    result_.tensors.push_back(float_tensor(layer + "\n" + name, array.shape, array.values));
  }
  void add_arrays(std::string const& layer, std::string const& group) {
    std::vector<std::string> paths;
    if (file_.has_group(group)) collect_keras_3_arrays(file_, group, 0, paths);
    for (auto const& path : paths) add(layer, stacked_cell_of(path), path);
  }

  void walk(std::string const& group, std::string const& outside, int depth) {
    constexpr int deepest = 16;
    if (depth > deepest) file_.damaged(group, "has models that are nested too deep");
    // Layers that are attributes of a subclassed model are beside its list of layers.
    auto const layers = group + "/layers";
    for (auto const& child : file_.children(layers)) add_child(layers + "/" + child, outside, depth);
    if (depth > 0) return;
    for (auto const& child : file_.children("/")) {
      static constexpr std::array others{"layers", "optimizer", "vars"};
      bool const is_other = child.starts_with('_') || std::find(others.begin(), others.end(), child) != others.end();
      if (!is_other) add_child("/" + child, outside, depth);
    }
  }
  void add_child(std::string const& own, std::string const& outside, int depth) {
    auto const name = file_.has_group(own + "/vars") ? file_.text(own + "/vars", "name") : std::nullopt;
    if (!name) {
      std::vector<std::string> paths;
      if (file_.has_group(own)) collect_keras_3_arrays(file_, own, 0, paths);
      if (paths.empty()) return;
      throw file_error("E5062", file_.name() + ": does not say which layer '" + own +
                                    "' is, since an older release of Keras 3 wrote it: save the model as .keras");
    }
    if (file_.has_group(own + "/layers"))
      walk(own, outside + *name + "/", depth + 1);
    else
      add_named_arrays(outside + *name, own);
  }
  /// Reads the arrays of a layer, or of a subclassed model, under the names of the layers in it: "dense/0".
  void add_named_arrays(std::string const& layer, std::string const& group) {
    std::vector<std::string> paths;
    collect_keras_3_arrays(file_, group, 0, paths);
    for (auto const& path : paths) {
      auto name = stacked_cell_of(path);  // a cell's own name counts the cells of all models
      if (!name.empty()) {
        add(layer, name, path);
        continue;
      }
      for (auto slash = path.find('/', group.size() + 1); slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        auto const vars = path.substr(0, slash) + "/vars";
        auto const own = file_.has_group(vars) ? file_.text(vars, "name") : std::nullopt;
        if (own) name += *own + "/";
      }
      add(layer, name + path.substr(path.rfind('/') + 1), path);
    }
  }
  void add_layers(keras_layer const& layer) {
    for (auto const& each : layer.layers) {
      if (each.is_model)
        add_layers(each);
      else
        add_arrays(each.path, "/" + each.group);
    }
  }

  hdf5_content const& file_;
  tensor_file result_;
};

/// True if a file has weights as Keras 3's `save_weights` writes them: groups by class or, for a subclassed model, by
/// attribute, each with "vars".
[[nodiscard]] inline bool has_keras_3_weights(hdf5_content const& file) {
  if (file.has_group("/layers")) return true;
  if (file.has_group("/model_weights") || !file.texts("/", "layer_names").empty()) return false;
  auto const groups = file.children("/");
  return std::any_of(groups.begin(), groups.end(),
                     [&](auto const& each) { return file.has_group("/" + each + "/vars"); });
}

/// The weights of an HDF5 file of Keras, which holds a whole model or weights alone. Throws file_error: E5001, E5061
/// the file cannot be read, E5062 it has no weights of Keras's.
[[nodiscard]] inline tensor_file read_keras_h5(hdf5_content const& file) {
  keras_weights_reader reader(file);
  if (has_keras_3_weights(file)) return reader.read_keras_3();
  if (!file.has_group("/model_weights") && file.texts("/", "layer_names").empty())
    throw file_error("E5062", file.name() + ": has no weights that Keras has saved");
  return reader.read_keras_2();
}
[[nodiscard]] inline tensor_file read_keras_h5(std::string const& path) { return read_keras_h5(hdf5_file(path)); }

/// The content of a .keras archive: the model's configuration, and an HDF5 file.
class keras_archive {
 public:
  /// Throws file_error: E5001 the file cannot be read, E5015 it is no archive, E5062 it has no model, E5061, E5220 its
  /// parts unpack to more than most_config_bytes and most_unpacked.
  explicit keras_archive(std::string const& path) : keras_archive(byte_source(path)) {}
  /// Reads the archive from an open file or from bytes in memory.
  explicit keras_archive(byte_source const& source) : keras_archive(zip_reader(source), source.name()) {}

  [[nodiscard]] json const& model() const noexcept { return model_; }
  [[nodiscard]] hdf5_file const& file() const noexcept { return file_; }
  /// The weights of its model. Throws file_error E5061, E5063.
  [[nodiscard]] tensor_file weights() const {
    try {
      layer_tree const tree(model_, {}, {});
      return keras_weights_reader(file_).read_keras_3(tree.root());
    } catch (nlohmann::json::exception const& problem) {
      throw file_error("E5063", path_ + ": config.json is not that of a model: " + problem.what());
    }
  }

 private:
  keras_archive(zip_reader const& archive, std::string const& path)
      : path_(path),
        model_(config_of(read_config(archive, path), path)),
        file_(read_weights(archive, path), path + " (model.weights.h5)") {}

  static zip_member const& member(zip_reader const& archive, std::string_view name, std::string const& path) {
    for (auto const& each : archive.members())
      if (each.name == name) return each;
    throw file_error("E5062", path + ": has no member '" + std::string(name) + "'");
  }
  static std::vector<std::byte> read_config(zip_reader const& archive, std::string const& path) {
    return archive.read(member(archive, "config.json", path), most_config_bytes);
  }
  static std::vector<std::byte> read_weights(zip_reader const& archive, std::string const& path) {
    auto const& found = member(archive, "model.weights.h5", path);
    return archive.read(found, most_unpacked(found.packed));
  }
  static json config_of(std::vector<std::byte> const& text, std::string const& path) {
    return parse_json({reinterpret_cast<char const*>(text.data()), text.size()}, path);
  }

  std::string path_;
  json model_;
  hdf5_file file_;
};

/// The weights of a .keras archive. Throws file_error as keras_archive and its `weights` do.
[[nodiscard]] inline tensor_file read_keras_archive(std::string const& path) { return keras_archive(path).weights(); }

}  // namespace stagecraft::io
