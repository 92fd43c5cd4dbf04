// SPDX-License-Identifier: BSD-3-Clause
// The training of a bundle as Keras 2's .h5 files have it: the optimizer, the loss, and the optimizer's numbers.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/weight_paths.hpp>
#include <stagecraft/io/keras/hdf5_writer.hpp>
#include <stagecraft/io/keras/keras_optimizer.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stagecraft::io {

/// What a .h5 file says of a training.
struct keras_training {
  json config;       ///< Keras's training_config; null: the file holds a model alone
  std::string note;  ///< why a bundle's training is not in the file; empty: it is, or the bundle has none
};

/// The training of a bundle in Keras's words. Optimizers are those of Keras 2.6.
[[nodiscard]] inline keras_training keras_training_of(bundle_contents const& contents) {
  auto const none = [](std::string why) { return keras_training{nullptr, std::move(why)}; };
  auto const& training = contents.training;
  if (!training.is_object()) return {};
  auto const name_in = [&](char const* key) {
    auto const name =
        training.contains(key) && training[key].is_object() ? training[key].value("class_name", json()) : json();
    return name.is_string() ? name.get<std::string>() : std::string();
  };
  auto const* const optimizer = keras_optimizer_of(name_in("optimizer"));
  if (optimizer == nullptr)
    return none("Keras 2 has no optimizer '" + name_in("optimizer") + "' that keeps the same numbers");
  auto const loss = keras_loss_of(name_in("loss"));
  if (loss.empty()) return none("Keras 2 has no loss '" + name_in("loss") + "'");
  json options{{"name", optimizer->class_name}};
  auto const given = training["optimizer"].value("config", json::object());
  for (auto const& [key, value] : given.items()) {
    bool const is_off = key == "decay" || key.starts_with("clip") || key == "global_clipnorm";
    if (is_off && value == 0) continue;
    if (!value.is_number() && !value.is_boolean())
      return none("the optimizer's option " + key + " is a schedule, which Keras 2 does not read");
    options[key] = value;
  }
  if (auto const* const found = contents.tensors.find(std::string(counter_prefix) + "learning_rate"))
    if (auto const rate = to_floats(*found); rate.size() == 1)
      options["learning_rate"] = rate[0];  // as callbacks left it
  return {{{"optimizer_config", {{"class_name", optimizer->class_name}, {"config", options}}},
           {"loss", {{"class_name", loss}, {"config", training["loss"].value("config", json::object())}}},
           {"metrics", nullptr},
           {"weighted_metrics", nullptr},
           {"loss_weights", nullptr}},
          {}};
}

/// Keras 2's group of an optimizer's numbers: weight updates, then each slot of all weights.
inline void add_keras_2_optimizer(hdf5_writer& file, bundle_contents const& contents, keras_training const& training,
                                  std::vector<keras_weight const*> const& weights) {
  auto const& optimizer = *keras_optimizer_of(training.config["optimizer_config"]["class_name"].get<std::string>());
  std::string const group = "optimizer_weights", begin = std::string(optimizer.class_name) + "/";
  std::vector<std::string> names{begin + "iter:0"};
  std::int64_t updates = 0;
  if (auto const* const found = contents.tensors.find(std::string(counter_prefix) + "iterations"))
    std::memcpy(&updates, found->bytes.data(), std::min(sizeof updates, found->bytes.size()));
  file.add_number(group + "/" + names[0], updates);
  for (auto const& slot : optimizer.slots)
    for (auto const* weight : weights) {
      if (slot.name.empty() || !weight->trainable) continue;
      auto const own = std::string(without_number(weight->path)) + "/" + std::string(slot.name) + ":0";
      auto const* const found =
          contents.tensors.find(std::string(optimizer_prefix) + std::string(optimizer.name) + "/" + own);
      if (found == nullptr) continue;  // the optimizer does without this slot
      auto name = begin + std::string(without_number(weight->keras_2)) + "/" + std::string(slot.name) + ":0";
      if (std::find(names.begin(), names.end(), name) != names.end()) name = begin + own;
      file.add_array(group + "/" + name, *found);
      names.push_back(std::move(name));
    }
  file.add_texts(group, "weight_names", names);
}

}  // namespace stagecraft::io
