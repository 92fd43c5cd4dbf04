// SPDX-License-Identifier: BSD-3-Clause
#include "serve/served_models.hpp"

#include "applications/application_source.hpp"
#include "serve/version_folders.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <utility>

namespace stagecraft::tool {

namespace fs = std::filesystem;

serving::runtime_options served_model::options_of(std::string const& folder) const {
  constexpr char const* key = "runtime_api_timeout_us";
  auto options = options_;
  auto const path = folder + "/application.json";
  if (runtime_api_timeout_us_) {
    options.runtime_api_timeout_us = *runtime_api_timeout_us_;
  } else if (fs::exists(path)) {
    (void)serving::detail::open_regular_file<serving::link_error>(path);  // reading a pipe would wait for its writer
    auto const how = read_json_file(path);
    auto const own = how.is_object() ? how.value(key, io::json()) : io::json();
    if (!own.is_null() && (!own.is_number_integer() || own < 0 || own > std::numeric_limits<int>::max()))
      throw file_error("E5030", path + ": '" + key + "' is no time in microseconds");
    if (!own.is_null()) options.runtime_api_timeout_us = own.get<int>();
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
