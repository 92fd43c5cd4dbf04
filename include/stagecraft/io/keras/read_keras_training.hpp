// SPDX-License-Identifier: BSD-3-Clause
// A training that goes on from a file of Keras 2: the optimizer of a .h5 file, for the trainer's `load`.
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

/// The parts of "Adam/dense/kernel/m:0".
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

/// Reads a .h5 file that Keras 2 has saved from a model in training. Optimizers of Keras 2.6 name their numbers
/// "Adam/dense/kernel/m:0", those of Keras 2.15 "Adam/m/dense/kernel:0".
[[nodiscard]] inline kept_training read_keras_training(std::string const& path) {
  kept_training result;
  result.weights = read_keras_h5(path);
  hdf5_file const file(path);
  auto const text = file.text("", "training_config");
  if (!text) return result;
  auto const config = parse_json(*text, path);
  auto const found = config.is_object() ? config.value("optimizer_config", json()) : json();
  if (!found.is_object() || !found.contains("class_name") || !found["class_name"].is_string()) return result;
  result.optimizer = found["class_name"].get<std::string>();
  if (auto const package = result.optimizer.find('>'); package != std::string::npos)
    result.optimizer.erase(0, package + 1);  // "Custom>Adam"
  auto const* const known = keras_optimizer_of(result.optimizer);
  if (known == nullptr) return result;
  result.optimizer = known->name;
  result.options = found.value("config", json::object());
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

}  // namespace stagecraft::io
