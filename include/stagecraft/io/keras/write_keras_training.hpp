// SPDX-License-Identifier: BSD-3-Clause
// Writes the training of a bundle as Keras does: the optimizer, the loss, and the optimizer's numbers.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/keras/hdf5_writer.hpp>
#include <stagecraft/io/keras/keras_config.hpp>
#include <stagecraft/io/keras/keras_optimizer.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stagecraft::io {

/// The training in a file of Keras.
struct keras_training {
  json config;       ///< Keras 2's training_config, Keras 3's compile_config; null: the file holds a model alone
  std::string note;  ///< why a bundle's training is not in the file; empty: it is, or the bundle has none
};

/// The training of a bundle in Keras's words. Optimizers are those of Keras 2.6, and those of Keras 3 that have the
/// same options.
[[nodiscard]] inline keras_training keras_training_of(bundle_contents const& contents, keras_version version) {
  bool const is_3 = version == keras_version::keras_3;
  std::string const keras = is_3 ? "Keras 3" : "Keras 2";
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
    return none(keras + " has no optimizer '" + name_in("optimizer") + "' that keeps the same numbers");
  bool const is_ctc = is_3 && name_in("loss") == "ctc";
  auto const loss = is_ctc ? std::string("CTC") : keras_loss_of(name_in("loss"));
  if (loss.empty()) return none(keras + " has no loss '" + name_in("loss") + "'");
  json options{{"name", is_3 ? optimizer->name : optimizer->class_name}};
  auto const given = training["optimizer"].value("config", json::object());
  for (auto const& [key, value] : given.items()) {
    bool const is_off = key == "decay" || key.starts_with("clip") || key == "global_clipnorm";
    if (is_off && value == 0) continue;
    if (!value.is_number() && !value.is_boolean())
      return none("the optimizer's option " + key + " is a schedule, which " + keras + " does not read");
    if (is_3 && key == "decay") return none("the optimizer's option decay is none of Keras 3");
    options[key] = value;
  }
  if (auto const* const found = contents.tensors.find(std::string(counter_prefix) + "learning_rate"))
    if (auto const rate = to_floats(*found); rate.size() == 1)
      options["learning_rate"] = rate[0];  // the rate as callbacks left it
  if (!options.contains("learning_rate")) return none("the optimizer's learning rate is not known");
  auto const object = [&](char const* module, std::string_view class_name, json config) {
    json result{{"class_name", class_name}, {"config", std::move(config)}};
    if (is_3) result["module"] = module, result["registered_name"] = nullptr;
    return result;
  };
  json of_loss = training["loss"].value("config", json::object());
  if (is_ctc) of_loss.erase("max_label_length");  // Keras takes the width of the targets
  return {{{is_3 ? "optimizer" : "optimizer_config", object("keras.optimizers", optimizer->class_name, options)},
           {"loss", object("keras.losses", loss, std::move(of_loss))},
           {"metrics", nullptr},
           {"weighted_metrics", nullptr},
           {"loss_weights", nullptr}},
          {}};
}

[[nodiscard]] inline std::int64_t updates_of(bundle_contents const& contents) {
  auto const* const found = contents.tensors.find(std::string(counter_prefix) + "iterations");
  return found != nullptr && found->bytes.size() == sizeof(std::int64_t)
             ? little_endian_at<std::int64_t>(found->bytes.data())
             : 0;
}

/// A bundle's name of a slot of a weight, without the optimizer's name: "dense/kernel/m:0".
[[nodiscard]] inline std::string slot_path(keras_weight const& weight, std::string_view slot) {
  return std::string(without_number(weight.path)) + "/" + std::string(slot) + ":0";
}
/// The slot of a weight; null: the optimizer does not have it.
[[nodiscard]] inline stored_tensor const* slot_of(bundle_contents const& contents, keras_optimizer const& optimizer,
                                                  keras_weight const& weight, std::string_view slot) {
  return contents.tensors.find(std::string(optimizer_prefix) + std::string(optimizer.name) + "/" +
                               slot_path(weight, slot));
}

/// Adds Keras 2's group of an optimizer's numbers: the weight updates, then each slot of all weights.
inline void add_keras_2_optimizer(hdf5_writer& file, bundle_contents const& contents, keras_training const& training,
                                  std::vector<keras_weight const*> const& weights) {
  auto const& optimizer = *keras_optimizer_of(training.config["optimizer_config"]["class_name"].get<std::string>());
  std::string const group = "optimizer_weights", begin = std::string(optimizer.class_name) + "/";
  std::vector<std::string> names{begin + "iter:0"};
  file.add_number(group + "/" + names[0], updates_of(contents));
  for (auto const& slot : optimizer.slots)
    for (auto const* weight : weights) {
      if (slot.name.empty() || !weight->trainable) continue;
      auto const* const found = slot_of(contents, optimizer, *weight, slot.name);
      if (found == nullptr) continue;
      auto name = begin + std::string(without_number(weight->keras_2)) + "/" + std::string(slot.name) + ":0";
      if (std::find(names.begin(), names.end(), name) != names.end()) name = begin + slot_path(*weight, slot.name);
      file.add_array(group + "/" + name, *found);
      names.push_back(std::move(name));
    }
  file.add_texts(group, "weight_names", names);
}

/// Adds Keras 3's group of an optimizer's numbers: the weight updates, the learning rate, then the slots in Keras 3's
/// order.
inline void add_keras_3_optimizer(hdf5_writer& file, bundle_contents const& contents, keras_training const& training,
                                  std::vector<keras_weight const*> const& weights) {
  auto const& config = training.config["optimizer"];
  auto const& optimizer = *keras_optimizer_of(config["class_name"].get<std::string>());
  std::vector<keras_weight const*> trained;
  for (auto const* weight : weights)
    if (weight->trainable) trained.push_back(weight);
  std::vector<std::string> slots;
  for (auto const& slot : optimizer.slots)
    if (!slot.name.empty() && !trained.empty() && slot_of(contents, optimizer, *trained.front(), slot.name) != nullptr)
      slots.emplace_back(slot.name);
  std::string const group = "optimizer/vars";
  file.add_text(group, "name", std::string(optimizer.name));
  file.add_number(group + "/0", updates_of(contents));
  float const rate = config["config"]["learning_rate"].get<float>();
  file.add_array(group + "/1", float_tensor("", std::vector<int>(), {&rate, 1}));
  int place = 2;
  for (auto const& [weight, slot] : keras_3_order(optimizer, slots, trained.size()))
    if (auto const* const found = slot_of(contents, optimizer, *trained[weight], slots[slot]))
      file.add_array(group + "/" + std::to_string(place++), *found);
}

}  // namespace stagecraft::io
