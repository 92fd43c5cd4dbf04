// SPDX-License-Identifier: BSD-3-Clause
#include "serve/served_models.hpp"

#include "applications/application_source.hpp"
#include "serve/json_reader.hpp"
#include "serve/version_folders.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

namespace fs = std::filesystem;

namespace {

/// Reads the time that an application was converted with, without a tree of values: see json_writer.
std::optional<int> read_timeout(std::string const& path) {
  constexpr std::string_view key = "runtime_api_timeout_us";
  std::optional<int> found;
  auto const read = [&](json_reader& reader) {
    if (reader.next() != json_reader::kind::object) return reader.skip();
    reader.read_object([&](std::string const& name) {
      if (name != key || reader.next() == json_reader::kind::null) return reader.skip();
      std::int64_t time = -1;
      if (!reader.read_integer(time) || time < 0 || time > std::numeric_limits<int>::max())
        throw file_error("E5030", path + ": '" + std::string(key) + "' is no time in microseconds");
      found = static_cast<int>(time);
    });
  };
  try {
    json_reader::read_all(read_text_file(path), read);
  } catch (http_error const& why) {
    throw file_error("E5030", path + ": it is not JSON: " + why.text);
  }
  return found;
}

}  // namespace

serving::runtime_options served_model::options_of(std::string const& folder) const {
  auto options = options_;
  auto const path = folder + "/application.json";
  if (runtime_api_timeout_us_) {
    options.runtime_api_timeout_us = *runtime_api_timeout_us_;
  } else if (fs::exists(path)) {
    (void)serving::detail::open_regular_file<serving::link_error>(path);  // reading a pipe would wait for its writer
    if (auto const time = read_timeout(path)) options.runtime_api_timeout_us = *time;
  }
  return options;
}

void served_model::update() {
  auto const versions = list_versions(folder_);
  for (auto const& each : versions) {
    if (each.problem.empty()) continue;
    std::scoped_lock const lock(mutex_);
    if (std::exchange(problems_[each.number], each.problem) != each.problem)
      std::fprintf(stderr, "model '%s': version %lld cannot be told: %s\n", name_.c_str(),
                   static_cast<long long>(each.number), each.problem.c_str());
    if (present_.runtime == nullptr || present_.number != each.number) states_[each.number] = {"END", each.problem};
  }
  for (auto const& [number, folder, problem] : versions) {
    if (auto const now = version(); now.runtime != nullptr && now.number >= number) return;
    if (!problem.empty()) continue;
    try {
      auto runtime = std::make_shared<serving::embedded_runtime>(serving::application_file(folder).make_servable(),
                                                                 options_of(folder));
      served_version former;
      {
        std::scoped_lock const lock(mutex_);
        former = std::exchange(present_, served_version{number, std::move(runtime)});
        if (former.runtime != nullptr) states_[former.number] = {"END", ""};
        states_[number] = {"AVAILABLE", ""};
      }
      std::printf("model '%s': version %lld is served\n", name_.c_str(), static_cast<long long>(number));
      std::fflush(stdout);
      return;  // the former version ends when the last of its callers has the answer
    } catch (std::exception const& why) {
      std::scoped_lock const lock(mutex_);
      auto& state = states_[number];
      if (state.error_message != why.what())
        std::fprintf(stderr, "model '%s': version %lld cannot be served: %s\n", name_.c_str(),
                     static_cast<long long>(number), why.what());
      state = {"END", why.what()};
    }
  }
}

served_version served_model::version(std::int64_t number) const {
  std::scoped_lock const lock(mutex_);
  return number == 0 || number == present_.number ? present_ : served_version{};
}

std::map<std::int64_t, version_state> served_model::states() const {
  std::scoped_lock const lock(mutex_);
  return states_;
}

}  // namespace stagecraft::tool
