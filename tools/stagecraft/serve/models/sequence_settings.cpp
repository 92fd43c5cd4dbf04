// SPDX-License-Identifier: BSD-3-Clause
// Reads Triton's config.pbtxt.
#include "serve/models/sequence_batcher.hpp"
#include "serve/option_files.hpp"
#include "serve/text_message.hpp"

#include <cstdio>
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

}  // namespace

std::optional<sequence_settings> read_sequence_settings(std::string const& folder) {
  auto const path = folder + (folder.ends_with('/') ? "" : "/") + "config.pbtxt";
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  std::optional<sequence_settings> result;
  auto const message = text_message::read(read_option_file(path), path);
  for (auto const& field : message.fields) {
    if (field.name != "sequence_batching") {
      std::fprintf(stderr,
                   "stagecraft: %s, line %d: '%s' has no effect: it is what the application was compiled with\n",
                   path.c_str(), field.line, field.name.c_str());
      continue;
    }
    auto& settings = result.emplace();
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
  }
  return result;
}

}  // namespace stagecraft::tool
