// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/model_config.hpp"

#include "serve/option_files.hpp"
#include "serve/settings/server_log.hpp"
#include "serve/text_message.hpp"

#include <cstdio>
#include <limits>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

namespace {

std::int64_t positive(text_field const& field, std::string const& path) {
  constexpr std::int64_t most = 1000000000000;
  auto const number = field.as_integer(path);
  if (number < 1 || number > most) field.refuse(path, "is no number from 1 to " + std::to_string(most));
  return number;
}

sequence_settings::state read_state(text_field const& field, std::string const& path) {
  sequence_settings::state result;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "input_name") {
      result.input = each.as_text(path);
    } else if (each.name == "output_name") {
      result.output = each.as_text(path);
    } else if (each.name == "data_type") {
      if (each.as_text(path) != "TYPE_FP32") each.refuse(path, "is not TYPE_FP32, as applications compute");
    } else if (each.name == "dims") {
      if (!result.shape) result.shape.emplace();
      result.shape->push_back(each.as_integer(path));
    } else if (each.name == "initial_state") {
      for (auto const& part : each.as_message(path).fields)
        if (part.name == "data_file" || (part.name == "zero_data" && !part.as_boolean(path)))
          part.refuse(path, "is not taken: sequences begin with zeros");
    } else {
      each.refuse(path, "is not taken");
    }
  }
  if (result.input.empty() || result.output.empty()) field.refuse(path, "has no input_name, or no output_name");
  return result;
}

sequence_settings read_sequences(text_field const& field, std::string const& path) {
  sequence_settings settings;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "max_sequence_idle_microseconds") {
      settings.idle = std::chrono::microseconds(positive(each, path));
    } else if (each.name == "state") {
      settings.states.push_back(read_state(each, path));
    } else if (each.name == "oldest" || each.name == "direct") {
      for (auto const& part : each.as_message(path).fields)
        if (part.name == "max_candidate_sequences")
          settings.most = static_cast<std::size_t>(positive(part, path));
        else
          part.refuse(path, "is not taken: --batch_timeout_micros says how long a batch waits");
    } else {
      each.refuse(path, "is not taken");
    }
  }
  return settings;
}

ensemble_settings::tensor read_tensor(text_field const& field, std::string const& path) {
  ensemble_settings::tensor result;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "name") {
      result.name = each.as_text(path);
    } else if (each.name == "data_type") {
      auto const& type = each.as_text(path);
      result.is_bytes = type == "TYPE_STRING";
      if (!result.is_bytes && type != "TYPE_FP32")
        each.refuse(path, "is '" + type + "', expected TYPE_FP32, as applications compute, or TYPE_STRING");
    } else if (each.name == "dims") {
      if (!result.shape) result.shape.emplace();
      result.shape->push_back(each.as_integer(path));
    } else {
      each.refuse(path, "is not taken");
    }
  }
  if (result.name.empty()) field.refuse(path, "has no name");
  return result;
}

/// True if an input or output has the data_type TYPE_STRING.
bool is_of_bytes(text_field const& field, std::string const& path) {
  for (auto const& each : field.as_message(path).fields)
    if (each.name == "data_type" && each.as_text(path) == "TYPE_STRING") return true;
  return false;
}

/// Adds an entry of a map, `{ key: "x" value: "y" }`.
void read_entry(text_field const& field, std::string const& path, std::map<std::string, std::string>& to) {
  std::string key, value;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "key")
      key = each.as_text(path);
    else if (each.name == "value")
      value = each.as_text(path);
    else
      each.refuse(path, "is no part of a map");
  }
  if (key.empty() || value.empty()) field.refuse(path, "has no key, or no value");
  if (!to.emplace(key, value).second) field.refuse(path, "has the key '" + key + "' twice");
}

ensemble_step read_step(text_field const& field, std::string const& path) {
  ensemble_step result;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "model_name") {
      result.model = each.as_text(path);
    } else if (each.name == "model_version") {
      auto const number = each.as_integer(path);
      if (number != -1 && number < 1) each.refuse(path, "is neither -1, the highest one, nor a number from 1 on");
      result.version = number == -1 ? 0 : number;
    } else if (each.name == "input_map") {
      read_entry(each, path, result.inputs);
    } else if (each.name == "output_map") {
      read_entry(each, path, result.outputs);
    } else {
      each.refuse(path, "is not taken");
    }
  }
  if (result.model.empty()) field.refuse(path, "has no model_name");
  return result;
}

instance_group read_group(text_field const& field, std::string const& path) {
  constexpr std::int64_t most = 1024;
  instance_group result;
  for (auto const& each : field.as_message(path).fields) {
    if (each.name == "count") {
      auto const count = positive(each, path);
      if (count > most) each.refuse(path, "is more than " + std::to_string(most));
      result.count = static_cast<int>(count);
    } else if (each.name == "host_policy") {
      result.policy = each.as_text(path);
      result.is_named = true;
    } else if (each.name == "kind") {
      auto const& kind = each.as_text(path);
      if (kind != "KIND_CPU" && kind != "KIND_AUTO") each.refuse(path, "is '" + kind + "', expected KIND_CPU");
    } else if (each.name != "name") {
      each.refuse(path, "is not taken");
    }
  }
  return result;
}

std::string config_path(std::string const& folder) {
  return folder + (folder.ends_with('/') ? "" : "/") + "config.pbtxt";
}

}  // namespace

model_config read_model_config(std::string const& folder) {
  auto const path = config_path(folder);
  model_config result;
  if (::access(path.c_str(), F_OK) != 0) return result;
  auto const message = text_message::read(read_option_file(path), path);
  std::vector<ensemble_settings::tensor> inputs, outputs;
  std::vector<text_field const*> unused;
  for (auto const& field : message.fields) {
    if (field.name == "sequence_batching") {
      result.sequences = read_sequences(field, path);
    } else if (field.name == "ensemble_scheduling") {
      auto& steps = result.ensemble.emplace().steps;
      for (auto const& each : field.as_message(path).fields)
        if (each.name == "step")
          steps.push_back(read_step(each, path));
        else
          each.refuse(path, "is not taken");
    } else if (field.name == "instance_group") {
      result.groups.push_back(read_group(field, path));
    } else {
      unused.push_back(&field);
    }
  }
  for (auto const* field : unused) {
    bool const is_input = field->name == "input", is_tensor = is_input || field->name == "output";
    if (is_tensor && (result.ensemble || is_of_bytes(*field, path))) {
      auto tensor = read_tensor(*field, path);
      if (tensor.is_bytes && !is_input) field->refuse(path, "is of TYPE_STRING, and applications compute numbers");
      if (tensor.is_bytes) result.bytes.insert(tensor.name);
      (is_input ? inputs : outputs).push_back(std::move(tensor));
    } else if (result.ensemble && field->name == "max_batch_size") {
      auto const size = field->as_integer(path);
      if (size < 0 || size > std::numeric_limits<int>::max()) field->refuse(path, "is no size");
      result.max_batch_size = static_cast<int>(size);
    } else if (log().warning && (!result.ensemble || (field->name != "platform" && field->name != "name"))) {
      std::fprintf(stderr,
                   "stagecraft: %s, line %d: '%s' has no effect: it is what the application was compiled with\n",
                   path.c_str(), field->line, field->name.c_str());
    }
  }
  if (!result.ensemble) return result;
  result.ensemble->inputs = std::move(inputs);
  result.ensemble->outputs = std::move(outputs);
  if (result.sequences || !result.groups.empty())
    message.fields.front().refuse(path, "is of an ensemble, whose models have sequences and instances of their own");
  return result;
}

bool has_ensemble(std::string const& folder) {
  auto const path = config_path(folder);
  return ::access(path.c_str(), F_OK) == 0 && read_option_file(path).find("ensemble_scheduling") != std::string::npos;
}

}  // namespace stagecraft::tool
