// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_configuration.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string_view>

namespace stagecraft::tool {

namespace {

constexpr int most_ipus = 64;  // stages of a pipeline, and devices of a machine

constexpr char const* converter_names[]{"auto", "manual", "load"};

/// The keys of all converters.
constexpr std::string_view all_keys[]{"ipu_model",        "profiling_root_dir", "profiling_enable",
                                      "solution_dir",     "solution_path",      "fine_tune_iter",
                                      "max_ipu_quantity", "min_ipu_quantity",   "priority",
                                      "device_info",      "unmatched_in_stage", "manual_pipeline_config"};

/// Reads the keys of one converter.
class configuration_reader {
 public:
  configuration_reader(json const& config, std::string const& where) : config_(config), where_(where) {}

  [[nodiscard]] pipeline_configuration read() {
    if (!config_.is_object()) fail("E5171", "is " + shown(config_) + "; it is an object with the key 'converter'");
    read_converter();
    to_.profiling_enable = to_.converter != pipeline_converter::load;
    take("ipu_model", to_.ipu_model);
    take("profiling_root_dir", to_.profiling_root_dir);
    switch (to_.converter) {
      case pipeline_converter::automatic: read_auto(); break;
      case pipeline_converter::manual: read_manual(); break;
      case pipeline_converter::load: read_load(); break;
    }
    check_keys();
    check_values();
    return std::move(to_);
  }

 private:
  [[noreturn]] void fail(char const* code, std::string const& what) const {
    throw file_error(code, where_ + ": the pipeline configuration " + what);
  }
  /// The text of a value in a message; long ones are shortened.
  [[nodiscard]] static std::string shown(json const& value) {
    auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    return text;
  }

  void read_converter() {
    auto const found = config_.find("converter");
    if (found == config_.end()) fail("E5171", "has no key 'converter', which is \"auto\", \"manual\" or \"load\"");
    for (int i = 0; i < 3; ++i)
      if (*found == converter_names[i]) return void(to_.converter = static_cast<pipeline_converter>(i));
    fail("E5171", "has the converter " + shown(*found) + "; there are \"auto\", \"manual\" and \"load\"");
  }

  /// The value of a key, which this converter has; null if it is not given.
  json const* find(char const* key) {
    known_.emplace_back(key);
    auto const found = config_.find(key);
    return found == config_.end() ? nullptr : &*found;
  }
  [[noreturn]] void wrong(std::string const& key, json const& value, std::string const& expected) const {
    fail("E5173", "has '" + key + "': " + shown(value) + "; it is " + expected);
  }
  void take(char const* key, bool& to) {
    auto const* const value = find(key);
    if (value != nullptr && !value->is_boolean()) wrong(key, *value, "true or false");
    if (value != nullptr) to = value->get<bool>();
  }
  void take(char const* key, std::string& to) {
    auto const* const value = find(key);
    if (value != nullptr && (!value->is_string() || value->get_ref<std::string const&>().empty()))
      wrong(key, *value, "the name of a file or folder");
    if (value != nullptr) to = value->get<std::string>();
  }
  [[nodiscard]] int number(std::string const& key, json const& value, int least, int most) const {
    // A double, since comparing a json takes long to compile.
    double const given = value.is_number_integer() ? value.get<double>() : most + 1.0;
    bool const fits = given >= least && given <= most;
    if (!fits)
      wrong(key, value,
            most == std::numeric_limits<int>::max()
                ? "a whole number from " + std::to_string(least) + " on"
                : "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value.get<int>();
  }
  void take(char const* key, int& to, int least, int most) {
    if (auto const* const value = find(key); value != nullptr) to = number(key, *value, least, most);
  }
  json const& require(char const* key, char const* what) {
    auto const* const value = find(key);
    if (value == nullptr)
      fail("E5174", "has no key '" + std::string(key) + "', which the converter \"" + name() + "\" needs: " + what);
    return *value;
  }
  [[nodiscard]] std::string name() const { return converter_names[static_cast<int>(to_.converter)]; }

  void read_auto() {
    take("fine_tune_iter", to_.fine_tune_iter, 0, 1000);
    take("max_ipu_quantity", to_.max_ipu_quantity, 1, most_ipus);
    take("min_ipu_quantity", to_.min_ipu_quantity, 1, most_ipus);
    take("solution_dir", to_.solution_dir);
    auto const* const priority = find("priority");
    if (priority == nullptr) return;
    if (*priority != "cycle" && *priority != "memory") wrong("priority", *priority, "\"cycle\" or \"memory\"");
    to_.priority = *priority == "cycle" ? pipeline_priority::cycle : pipeline_priority::memory;
  }

  void read_manual() {
    constexpr auto const* expressions = "for each stage, a list of regular expressions for the names of its layers";
    auto const& lists = require("manual_pipeline_config", expressions);
    auto const& devices = require("device_info", "the IPU of each stage");
    take("profiling_enable", to_.profiling_enable);
    take("solution_dir", to_.solution_dir);
    take("unmatched_in_stage", to_.unmatched_in_stage, 0, most_ipus - 1);
    if (!lists.is_array()) wrong("manual_pipeline_config", lists, expressions);
    for (auto const& list : lists) {
      auto const is_text = [](json const& each) { return each.is_string(); };
      if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text))
        wrong("manual_pipeline_config", lists, expressions);
      to_.manual_pipeline_config.push_back(list.get<std::vector<std::string>>());
    }
    if (!devices.is_array()) wrong("device_info", devices, "a list of whole numbers, the IPU of each stage");
    for (auto const& device : devices) to_.device_info.push_back(number("device_info", device, 0, most_ipus - 1));
  }

  void read_load() {
    take("solution_path", to_.solution_path);
    // The guide demands the key; Graphcore's tool falls back to the file that its search has written.
    if (!config_.contains("solution_path") && !std::filesystem::exists(to_.solution_path))
      require("solution_path", "the solution file that is read");
    take("profiling_enable", to_.profiling_enable);
  }

  /// Reports E5172 for a key that no converter has. A configuration may have the keys of all three; those of the other
  /// converters are ignored.
  void check_keys() const {
    for (auto const& [key, value] : config_.items()) {
      if (key == "converter" || std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      if (std::find(std::begin(all_keys), std::end(all_keys), key) != std::end(all_keys)) {
        std::fprintf(stderr, "WARNING: %s: the converter \"%s\" has no key '%s', which is left out\n", where_.c_str(),
                     name().c_str(), key.c_str());
        continue;
      }
      std::string keys;
      for (auto const& each : known_)
        if (keys.find("'" + each + "'") == std::string::npos) keys += (keys.empty() ? "'" : ", '") + each + "'";
      fail("E5172", "has the key " + shown(key) + ", which no converter has; \"" + name() + "\" has " + keys);
    }
  }

  void check_values() const {
    if (to_.max_ipu_quantity < to_.least_ipus())
      fail("E5173", "asks for at least " + std::to_string(to_.min_ipu_quantity) +
                        " IPUs (min_ipu_quantity), and at most " + std::to_string(to_.max_ipu_quantity) +
                        " (max_ipu_quantity), between which there is no power of two from 2 on");
    if (to_.converter != pipeline_converter::manual) return;
    auto const& lists = to_.manual_pipeline_config;
    if (lists.size() != to_.device_info.size() || lists.size() < 2)
      fail("E5175", "has " + std::to_string(lists.size()) + " lists of expressions (manual_pipeline_config) and " +
                        std::to_string(to_.device_info.size()) +
                        " devices (device_info); there is one of each for every stage, and at least two stages");
    if (to_.unmatched_in_stage >= static_cast<int>(lists.size()))
      wrong("unmatched_in_stage", to_.unmatched_in_stage, "one of the stages");
    for (std::size_t stage = 0; stage < lists.size(); ++stage)
      for (auto const& text : lists[stage])
        if (models::name_pattern const pattern(text); pattern.failed())
          fail("E5176", "has the expression " + shown(text) + " for stage " + std::to_string(stage) +
                            ", which cannot be read: " + std::string(pattern.problem()) + " (character " +
                            std::to_string(pattern.problem_at() + 1) + ")");
  }

  json const& config_;
  std::string const& where_;
  std::vector<std::string> known_;
  pipeline_configuration to_;
};

}  // namespace

json parse_configuration(std::string_view text, char const* code, std::string const& where) {
  constexpr int deepest = 20;  // nested lists and objects
  try {
    return json::parse(
        text,
        [&](int depth, json::parse_event_t, json&) {
          if (depth > deepest) throw file_error(code, where + ": is nested too deep");
          return true;
        },
        true, true);
  } catch (json::exception const& why) {
    throw file_error(code, where + ": is no JSON: " + why.what());
  }
}

int pipeline_configuration::least_ipus() const {
  int ipus = 2;
  while (ipus < min_ipu_quantity) ipus *= 2;
  return ipus;
}

pipeline_configuration read_pipeline_configuration(json const& config, std::string const& where) {
  return configuration_reader(config, where).read();
}

pipeline_configuration read_pipeline_configuration(std::string const& text_or_file) {
  auto const first =
      std::string_view(text_or_file).substr(std::min(text_or_file.find_first_not_of(" \t\r\n"), text_or_file.size()));
  bool const is_text = first.starts_with("{") || first.starts_with("//") || first.starts_with("/*");
  auto const parse = [](std::string_view text, std::string const& where) {
    return parse_configuration(text, "E5170", where);
  };
  if (is_text) return read_pipeline_configuration(parse(text_or_file, "--pipeline_cfg"), "--pipeline_cfg");
  try {
    io::byte_source const source(text_or_file);
    return read_pipeline_configuration(parse(io::text_of(source), text_or_file), text_or_file);
  } catch (file_error const& why) {
    if (why.code() != "E5001") throw;
    throw file_error("E5170",
                     "--pipeline_cfg '" + text_or_file + "' is neither JSON, which begins with '{', nor a file");
  }
}

}  // namespace stagecraft::tool
