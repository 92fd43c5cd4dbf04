// SPDX-License-Identifier: BSD-3-Clause
#include "serve/option_files.hpp"

#include "serve/text_message.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace stagecraft::tool {

namespace {

text_message read(std::string const& path) { return text_message::read(read_option_file(path), path); }

version_policy read_policy(text_field const& field, std::string const& path) {
  using enum version_policy::kind;
  version_policy result;
  auto const number = [&](text_field const& of, std::int64_t least) {
    auto const value = of.as_integer(path);
    if (value < least) of.refuse(path, "is less than " + std::to_string(least));
    return value;
  };
  auto const& choices = field.as_message(path).fields;
  if (choices.size() > 1) choices[1].refuse(path, "is a second policy");
  for (auto const& each : choices) {
    auto const& options = each.as_message(path).fields;
    if (each.name == "latest") {
      for (auto const& option : options) {
        if (option.name != "num_versions") option.refuse(path, "is no option of latest");
        result.count = number(option, 1);
      }
    } else if (each.name == "all") {
      result.which = all;
      if (!options.empty()) options[0].refuse(path, "is no option of all");
    } else if (each.name == "specific") {
      result.which = specific;
      for (auto const& option : options) {
        if (option.name != "versions") option.refuse(path, "is no option of specific");
        result.versions.insert(number(option, 1));
      }
    } else {
      each.refuse(path, "is no policy, expected latest, all or specific");
    }
  }
  return result;
}

void read_label(text_field const& field, std::string const& path, model_settings& to) {
  std::string label;
  std::int64_t version = 0;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "key")
      label = each.as_text(path);
    else if (each.name == "value")
      version = each.as_integer(path);
    else
      each.refuse(path, "is no part of a label");
  }
  if (label.empty() || version < 1) field.refuse(path, "has no key, or no value that is a version");
  if (!to.labels.emplace(label, version).second) field.refuse(path, "has the label '" + label + "' twice");
}

/// The number in `name { value: 5 }`.
int wrapped_number(text_field const& field, std::string const& path, std::int64_t least) {
  constexpr std::int64_t most = 1000000000;
  std::int64_t number = -1;
  for (auto const& each : field.as_message(path).fields)
    if (each.name == "value") number = each.as_integer(path);
  if (number < least || number > most)
    field.refuse(path, "is no number from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(number);
}

}  // namespace

std::string read_option_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw file_error("E5096", path + ": cannot be read");
  return text;
}

std::vector<model_settings> parse_model_config(std::string const& text, std::string const& path) {
  std::vector<model_settings> models;
  for (auto const& list : text_message::read(text, path).fields) {
    if (list.name != "model_config_list") list.refuse(path, "is not taken, expected model_config_list");
    for (auto const& config : list.as_message(path).fields) {
      if (config.name != "config") config.refuse(path, "is not taken, expected config");
      auto& model = models.emplace_back();
      for (auto const& each : config.as_message(path).fields) {
        if (each.name == "name")
          model.name = each.as_text(path);
        else if (each.name == "base_path")
          model.folder = each.as_text(path);
        else if (each.name == "model_version_policy")
          model.policy = read_policy(each, path);
        else if (each.name == "version_labels")
          read_label(each, path, model);
        else if (each.name != "model_platform" && each.name != "model_type" && each.name != "logging_config")
          each.refuse(path, "is no option of a model");
      }
      if (model.name.empty() || model.folder.empty()) config.refuse(path, "has no name, or no base_path");
    }
  }
  return models;
}

void read_batching_parameters(std::string const& path, serving::runtime_options& to) {
  for (auto const& each : read(path).fields) {
    if (each.name == "batch_timeout_micros")
      to.batch_timeout_us = wrapped_number(each, path, 0);
    else if (each.name == "max_enqueued_batches")
      to.max_enqueued_calls = wrapped_number(each, path, 1);
    else
      std::fprintf(stderr,
                   "stagecraft: %s, line %d: '%s' has no effect: sizes of batches and threads are those that an "
                   "application was compiled with\n",
                   path.c_str(), each.line, each.name.c_str());
  }
}

std::string read_monitoring_config(std::string const& path) {
  std::string where = "/monitoring/prometheus/metrics";
  bool is_enabled = false;
  for (auto const& config : read(path).fields) {
    if (config.name != "prometheus_config") config.refuse(path, "is not taken, expected prometheus_config");
    for (auto const& each : config.as_message(path).fields) {
      if (each.name == "enable")
        is_enabled = each.as_boolean(path);
      else if (each.name == "path")
        where = each.as_text(path);
      else
        each.refuse(path, "is no option of prometheus_config");
    }
  }
  if (!where.starts_with('/')) throw file_error("E5283", path + ": the path '" + where + "' does not begin with '/'");
  return is_enabled ? where : "";
}

}  // namespace stagecraft::tool
