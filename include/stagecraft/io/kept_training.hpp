// SPDX-License-Identifier: BSD-3-Clause
// The state of a training in another program's file, and how a trainer takes it over.
#pragma once

#include <stagecraft/engine/training_progress.hpp>
#include <stagecraft/io/detail/config_differences.hpp>
#include <stagecraft/io/detail/keras_positions.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/keras/keras_optimizer.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::io {

/// A model's weights, and the optimizer that trained them.
struct kept_training {
  /// Numbers that an optimizer keeps with a weight. The entries of one slot are in the order of the trained weights.
  struct slot {
    std::string name;   ///< the library's name of the slot: "m"
    std::string layer;  ///< the weight's layer, as far as the file states it
    stored_tensor values;
  };
  tensor_file weights;
  std::string optimizer;  ///< its name here, or Keras's name if it has none here; empty: the file does not state it
  json options = json::object();
  std::vector<slot> slots;
  /// A file of Keras 3 has numbers without names in place of slots, in the order of keras_3_order. `optimizer` is empty
  /// if the file holds them alone.
  std::optional<std::vector<stored_tensor>> numbers;
  std::vector<std::string> unknown;  ///< numbers of the optimizer that have no counterpart here
  std::int64_t updates = 0;          ///< updates of the weights
};

/// True if Keras's value of an optimizer's option equals the library's, which has 0 for Keras's None.
[[nodiscard]] inline bool is_same_option(json const& own, json const& found) {
  auto const number = [](json const& value) {
    return value.is_number() ? value.get<float>() : value.is_boolean() && value.get<bool>() ? 1.0F : 0.0F;
  };
  return (own.is_number() || own.is_boolean() || own.is_null()) &&
         (found.is_number() || found.is_boolean() || found.is_null()) && number(own) == number(found);
}

/// Lists the differences between the options of a trainer's optimizer and those of a file.
inline void compare_options(json const& own, json const& found, std::vector<std::string>& wrong) {
  for (auto const& [key, value] : found.items()) {
    static constexpr std::array<std::string_view, 5> others{"name", "jit_compile", "is_legacy_optimizer",
                                                            "ema_momentum", "ema_overwrite_frequency"};
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    auto const ours = own.value(key, json());
    if (key == "learning_rate" && (value.is_number() || ours.is_object())) continue;
    if (!is_same_option(ours, value))
      wrong.push_back("option " + key + " is " + value_text(ours) + ", in the file " + value_text(value));
  }
  for (auto const& [key, value] : own.items())  // Keras leaves out some options that are off
    if (key != "learning_rate" && !found.contains(key) && !is_same_option(value, json()))
      wrong.push_back("option " + key + " is " + value_text(value) + ", which the file does not have");
}

/// Takes over slots that have names. Arguments are those of take_optimizer.
inline void take_slots(kept_training const& from, json const& options, std::vector<std::string> const& paths,
                       std::vector<std::string> const& names, std::vector<weight_array>& numbers,
                       std::vector<std::string>& wrong) {
  for (auto const& each : from.unknown) wrong.push_back("'" + each + "' of the file has no counterpart here");
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    std::size_t weight = 0;
    for (auto const& each : from.slots) {
      if (each.name != names[slot]) continue;
      if (weight == paths.size()) {
        wrong.push_back("'" + each.values.name + "' of the file is of no weight that is trained here");
        break;
      }
      auto& to = numbers[weight * names.size() + slot];
      // A scope of the file that is no layer's name here is ignored: the order alone decides.
      bool const is_known =
          std::any_of(paths.begin(), paths.end(), [&](auto const& path) { return leads_through(path, each.layer); });
      bool const is_own = !is_known || leads_through(paths[weight], each.layer);
      auto const what = is_own ? difference_of(each.values, to) : "is another weight's than '" + paths[weight] + "'";
      if (what.empty())
        to.values = to_floats(each.values);
      else
        wrong.push_back("'" + each.values.name + "' " + what);
      ++weight;
    }
    if (weight < paths.size())
      wrong.push_back("the file has " + std::to_string(weight) + " weights with the number '" + names[slot] +
                      "', the model trains " + std::to_string(paths.size()));
  }
  for (auto const& each : from.slots) {
    // Keras 2.15's SGD without momentum writes the last movement, too, but does not use it.
    if (each.name == "momentum" && is_same_option(options.value("momentum", json()), 0)) continue;
    if (std::find(names.begin(), names.end(), each.name) == names.end())
      wrong.push_back("'" + each.values.name + "' of the file has no counterpart in this optimizer");
  }
}

/// Takes over numbers without names, in the order of Keras's optimizer `known`.
inline void take_numbers(std::vector<stored_tensor> const& from, keras_optimizer const& known,
                         std::vector<std::string> const& paths, std::vector<std::string> const& names,
                         std::vector<weight_array>& numbers, std::vector<std::string>& wrong) {
  auto const order = keras_3_order(known, names, paths.size());
  if (order.size() != from.size()) {
    wrong.push_back("the file has " + std::to_string(from.size()) + " arrays of its numbers, the trainer's has " +
                    std::to_string(names.size()) + " for each of " + std::to_string(paths.size()) + " weights");
    return;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& to = numbers[order[i].weight * names.size() + order[i].slot];
    if (auto const what = difference_of(from[i], to); what.empty())
      to.values = to_floats(from[i]);
    else
      wrong.push_back("'" + from[i].name + "' " + what);
  }
}

/// Takes over the optimizer of a file: its numbers for each trained weight, `paths.size()` times `names.size()` with
/// the slots of a weight beside each other; the number of weight updates; the learning rate, unless a schedule has it.
/// `own` is the trainer's optimizer, which a file that states none is assumed to have. Throws file_error E5120 with
/// everything that does not fit, E5205 for a learning rate beyond float32; `progress` is then unchanged.
inline void take_optimizer(kept_training const& from, json const& own, std::vector<std::string> const& paths,
                           std::vector<std::string> const& names, std::vector<weight_array>& numbers,
                           engine::training_progress& progress, std::string const& path) {
  auto const stop = [&](std::string const& what) {
    refuse("E5120", path, "training cannot go on from this file, load_weights reads the weights alone: " + what);
  };
  auto const mine = own.value("class_name", "");
  if (from.optimizer.empty() && !from.numbers) stop("it holds no optimizer");
  if (!from.optimizer.empty() && from.optimizer != mine)
    stop("its optimizer is " + value_text(from.optimizer) + ", the trainer's " + value_text(mine));
  std::vector<std::string> wrong;
  auto const options = own.value("config", json::object());
  if (!from.optimizer.empty()) compare_options(options, from.options, wrong);
  if (auto const* const known = keras_optimizer_of(mine); from.numbers && known != nullptr)
    take_numbers(*from.numbers, *known, paths, names, numbers, wrong);
  else if (from.numbers)
    stop("Keras has no optimizer " + value_text(mine) + " that keeps the same numbers");
  else
    take_slots(from, options, paths, names, numbers, wrong);
  std::string text;
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < wrong.size() && i < most; ++i) text += "\n  " + wrong[i];
  if (wrong.size() > most) text += "\n  and " + std::to_string(wrong.size() - most) + " more";
  if (!wrong.empty()) stop("its optimizer is not the trainer's:" + text);
  auto learning_rate = progress.learning_rate;
  if (auto const rate = from.options.find("learning_rate");
      rate != from.options.end() && rate->is_number() && options.value("learning_rate", json()).is_number())
    learning_rate = narrowed(rate->get<double>(), [&] { return path + ": the optimizer's learning_rate"; });
  progress.updates = from.updates;
  progress.steps = static_cast<std::uint64_t>(from.updates);
  progress.learning_rate = learning_rate;
}

}  // namespace stagecraft::io
