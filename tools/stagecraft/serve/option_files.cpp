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

text_message read(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw file_error("E5096", path + ": cannot be read");
  return text_message::read(text, path);
}

/// The highest version alone is served, which is TensorFlow Serving's default.
void check_policy(text_field const& policy, std::string const& path) {
  for (auto const& each : policy.as_message(path).fields) {
    bool is_one = each.name == "latest";
    for (auto const& count : each.as_message(path).fields)
      is_one = is_one && count.name == "num_versions" && count.as_integer(path) == 1;
    if (!is_one) each.refuse(path, "is not taken: this server serves the highest version of a model alone");
  }
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

std::vector<std::pair<std::string, std::string>> read_model_config(std::string const& path) {
  std::vector<std::pair<std::string, std::string>> models;
  for (auto const& list : read(path).fields) {
    if (list.name != "model_config_list") list.refuse(path, "is not taken, expected model_config_list");
    for (auto const& config : list.as_message(path).fields) {
      if (config.name != "config") config.refuse(path, "is not taken, expected config");
      auto& [name, folder] = models.emplace_back();
      for (auto const& each : config.as_message(path).fields) {
        if (each.name == "name")
          name = each.as_text(path);
        else if (each.name == "base_path")
          folder = each.as_text(path);
        else if (each.name == "model_version_policy")
          check_policy(each, path);
        else if (each.name == "version_labels")
          each.refuse(path, "is not taken: versions have no labels");
        else if (each.name != "model_platform" && each.name != "model_type" && each.name != "logging_config")
          each.refuse(path, "is no option of a model");
      }
      if (name.empty() || folder.empty()) config.refuse(path, "has no name, or no base_path");
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
