// SPDX-License-Identifier: BSD-3-Clause
// Differences between a file and a model, layer by layer, reported in one error.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Collects differences, each as a text.
class difference_list {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
  [[nodiscard]] std::vector<std::string> const& texts() const noexcept { return texts_; }

  /// Throws file_error if there are any differences: "w.safetensors: does not fit model 'mlp', 2 differences:", and a
  /// line for each.
  void raise(std::string_view code, std::string const& file, std::string_view model) const {
    if (texts_.empty()) return;
    std::string text = "does not fit model '" + std::string(model) + "', " + std::to_string(texts_.size()) +
                       (texts_.size() == 1 ? " difference:" : " differences:");
    for (auto const& each : texts_) text += "\n  " + each;
    refuse(code, file, text);
  }

 private:
  std::vector<std::string> texts_;
};

/// The text of a value in an error, cut after 120 characters.
[[nodiscard]] inline std::string value_text(json const& value) {
  constexpr std::size_t most = 120;
  auto text = value.is_null() ? std::string("None")
                              : value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

/// The name of a layer's entry in `layers`; empty if it has none.
[[nodiscard]] inline std::string name_of_entry(json const& entry) {
  if (!entry.is_object() || !entry.contains("config") || !entry["config"].is_object()) return {};
  auto const name = entry["config"].find("name");
  return name != entry["config"].end() && name->is_string() ? name->get<std::string>() : std::string();
}

inline void compare_config(json const& own, json const& found, std::string const& where, difference_list& differences);

/// Compares layers, found by their names, and their order.
inline void compare_layers(json const& own, json const& found, std::string const& where, difference_list& differences) {
  auto const find = [](json const& layers, std::string const& name) -> json const* {
    for (auto const& each : layers)
      if (name_of_entry(each) == name) return &each;
    return nullptr;
  };
  if (!found.is_array()) return differences.add(where + "the file has no list of layers");
  for (auto const& each : own) {
    auto const name = name_of_entry(each);
    if (auto const* const other = find(found, name); other == nullptr)
      differences.add(where + "layer '" + name + "' is not in the file");
    else
      compare_config(each, *other, where + "layer '" + name + "': ", differences);
  }
  bool same_names = own.size() == found.size();
  for (auto const& each : found)
    if (auto const name = name_of_entry(each); find(own, name) == nullptr) {
      differences.add(where + "layer '" + name + "' of the file is not in the model");
      same_names = false;
    }
  for (std::size_t i = 0; same_names && i < own.size(); ++i)
    if (name_of_entry(own[i]) != name_of_entry(found[i])) {
      differences.add(where + "layer '" + name_of_entry(own[i]) + "' stands where the file has '" +
                      name_of_entry(found[i]) + "'");
      break;
    }
}

/// Compares the stages of calls, found by their names.
inline void compare_stages(json const& own, json const& found, difference_list& differences) {
  for (auto const& [call, stage] : own.items()) {
    auto const other = found.find(call);
    auto const in_file = other == found.end() ? json() : *other;
    if (stage != in_file)
      differences.add("layer '" + call + "': pipeline stage is " + value_text(stage) + ", in the file " +
                      value_text(in_file));
  }
}

/// Lists options that differ. An option that the file does not have is no difference: an older release wrote the file.
inline void compare_config(json const& own, json const& found, std::string const& where, difference_list& differences) {
  if (!found.is_object()) return differences.add(where + "the file has " + value_text(found));
  for (auto const& [key, value] : own.items()) {
    auto const other = found.find(key);
    if (other == found.end() || key == "output_shapes") continue;  // output shapes follow from the rest
    if (key == "layers" && value.is_array())
      compare_layers(value, *other, where, differences);
    else if (key == "config" && value.is_object())
      compare_config(value, *other, where, differences);
    else if (key == "pipeline_stages" && other->is_object() && !value.empty() && !other->empty())
      compare_stages(value, *other, differences);
    else if (value != *other)
      differences.add(where + key + " is " + value_text(value) + ", in the file " + value_text(*other));
  }
  for (auto const& [key, value] : found.items())
    if (!own.contains(key) && key != "output_shapes")
      differences.add(where + key + " of the file, " + value_text(value) + ", is not in the model");
}

}  // namespace stagecraft::io
