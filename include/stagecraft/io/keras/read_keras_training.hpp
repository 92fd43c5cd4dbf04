// SPDX-License-Identifier: BSD-3-Clause
// Reads the training in a file of Keras, from which a trainer's `load` continues: the optimizer of a .h5 file of Keras
// 2, or of a .keras or .weights.h5 file of Keras 3.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/kept_training.hpp>
#include <stagecraft/io/keras/hdf5_file.hpp>
#include <stagecraft/io/keras/keras_optimizer.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::io {

/// The parts of a name such as "Adam/dense/kernel/m:0".
[[nodiscard]] inline std::vector<std::string> parts_of_name(std::string_view name) {
  std::vector<std::string> parts;
  name = name.substr(0, name.rfind(':'));
  for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    parts.emplace_back(name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  parts.emplace_back(name);
  if (parts.size() > 1 && parts.front() == "training") parts.erase(parts.begin());
  return parts;
}

/// The optimizer of a configuration, {"class_name": "Adam", "config": {...}}; null: the library lacks it.
inline keras_optimizer const* read_keras_optimizer(json const& found, kept_training& to) {
  if (!found.is_object() || !found.contains("class_name") || !found["class_name"].is_string()) return nullptr;
  to.optimizer = found["class_name"].get<std::string>();
  if (auto const package = to.optimizer.find('>'); package != std::string::npos)
    to.optimizer.erase(0, package + 1);  // "Custom>Adam"
  auto const* const known = keras_optimizer_of(to.optimizer);
  if (known == nullptr) return nullptr;
  to.optimizer = known->name;
  to.options = found.value("config", json::object());
  if (!to.options.is_object()) to.options = json::object();
  return known;
}

/// Reads a .h5 file that Keras 2 saved from a model in training. Optimizers of Keras 2.6 name their numbers
/// "Adam/dense/kernel/m:0", those of Keras 2.15 "Adam/m/dense/kernel:0".
[[nodiscard]] inline kept_training read_keras_2_training(hdf5_file const& file) {
  kept_training result;
  result.weights = read_keras_h5(file);
  auto const text = file.text("", "training_config");
  if (!text) return result;
  auto const config = parse_json(*text, file.name());
  auto const* const known =
      read_keras_optimizer(config.is_object() ? config.value("optimizer_config", json()) : json(), result);
  if (known == nullptr) return result;
  bool is_newer = false;
  std::string const group = "/optimizer_weights";
  for (auto const& name : file.texts(group, "weight_names")) {
    auto const parts = parts_of_name(name);
    if (parts.back() == "iter" || parts.back() == "iteration") {
      is_newer = parts.back() == "iteration";
      result.updates = file.whole_number(group + "/" + name);
      continue;
    }
    if (parts.size() < 3) {
      if (parts.back() != "learning_rate") result.unknown.push_back(name);
      continue;
    }
    auto const& word = is_newer ? parts[1] : parts.back();
    keras_slot const* slot = nullptr;
    for (auto const& each : known->slots)
      if (!each.name.empty() && word == (is_newer ? each.newer : each.name)) slot = &each;
    if (slot == nullptr) {
      result.unknown.push_back(name);
      continue;
    }
    auto const array = file.array(group + "/" + name);
    result.slots.push_back(
        {std::string(slot->name), is_newer ? parts[2] : parts[1], float_tensor(name, array.shape, array.values)});
  }
  return result;
}

/// Reads the numbers of an optimizer of Keras 3: "optimizer/vars/0" is the number of weight updates, then comes the
/// learning rate, a single number, unless a schedule has it, then the slots of weights.
inline void read_keras_3_optimizer(hdf5_file const& file, kept_training& to) {
  std::string const group = "/optimizer/vars/";
  if (!file.has_array(group + "0")) return;
  to.updates = file.whole_number(group + "0");
  to.numbers.emplace();
  for (int i = 1; file.has_array(group + std::to_string(i)); ++i) {
    auto const array = file.array(group + std::to_string(i));
    if (i == 1 && array.shape.empty())
      to.options["learning_rate"] = array.values[0];
    else
      to.numbers->push_back(float_tensor(array.name, array.shape, array.values));
  }
}

/// Reads a .h5 file of Keras 2, or a .weights.h5 file of Keras 3, which does not name its optimizer.
[[nodiscard]] inline kept_training read_keras_training(hdf5_file const& file) {
  if (!has_keras_3_weights(file)) return read_keras_2_training(file);
  kept_training result;
  result.weights = read_keras_h5(file);
  read_keras_3_optimizer(file, result);
  return result;
}
[[nodiscard]] inline kept_training read_keras_training(std::string const& path) {
  return read_keras_training(hdf5_file(path));
}

/// Reads a .keras archive of a model in training.
[[nodiscard]] inline kept_training read_keras_archive_training(std::string const& path) {
  keras_archive const archive(path);
  kept_training result;
  result.weights = archive.weights();
  auto const& model = archive.model();
  auto const config = model.is_object() ? model.value("compile_config", json()) : json();
  if (read_keras_optimizer(config.is_object() ? config.value("optimizer", json()) : json(), result) != nullptr)
    read_keras_3_optimizer(archive.file(), result);
  return result;
}

}  // namespace stagecraft::io
