// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/served_models.hpp"

#include "applications/application_source.hpp"
#include "serve/http/http_message.hpp"
#include "serve/json_reader.hpp"
#include "serve/models/version_folders.hpp"
#include "serve/models/warm_up.hpp"
#include "serve/settings/server_log.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

namespace fs = std::filesystem;

namespace {

/// What a server reads of an application.json.
struct application_settings {
  std::optional<int> runtime_api_timeout_us;  ///< the time that an application was converted with
  std::vector<example_signature> signatures;
};

/// Reads a version's application.json, if it has one, its time if it `has_time` that counts, without a tree of values:
/// see json_writer. Throws file_error E5030 for one without a valid time, E4187 for wrong signatures.
application_settings read_application(std::string const& path, bool has_time) {
  constexpr std::string_view key = "runtime_api_timeout_us";
  application_settings found;
  if (!fs::exists(path)) return found;
  (void)serving::detail::open_regular_file<serving::link_error>(path);  // reading a pipe would wait for its writer
  auto const read = [&](json_reader& reader) {
    if (reader.next() != json_reader::kind::object) return reader.skip();
    reader.read_object([&](std::string const& name) {
      if (name == "signatures") {
        found.signatures = read_signatures(reader, path);
        return;
      }
      if (!has_time || name != key || reader.next() == json_reader::kind::null) return reader.skip();
      std::int64_t time = -1;
      if (!reader.read_integer(time) || time < 0 || time > std::numeric_limits<int>::max())
        throw file_error("E5030", path + ": '" + std::string(key) + "' is no time in microseconds");
      found.runtime_api_timeout_us = static_cast<int>(time);
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

model_settings served_model::settings() const {
  std::scoped_lock const lock(mutex_);
  return settings_;
}

void served_model::change(model_settings settings) {
  std::scoped_lock const lock(mutex_);
  settings_ = std::move(settings);
}

served_version served_model::make(std::string const& name, std::int64_t number, std::string const& folder) const {
  auto config = read_model_config(settings().folder);
  served_version made{.number = number,
                      .runtime = nullptr,
                      .times = std::make_shared<call_times>(),
                      .sequences = nullptr,
                      .steps = nullptr,
                      .model = std::make_shared<std::string const>(name)};
  auto const path = folder + "/application.json";
  auto const own = read_application(path, !runtime_api_timeout_us_);
  auto const bind = [&] {
    made.signatures = std::make_shared<model_signatures const>(
        serving::detail::bound_signatures(own.signatures, made.description(), path));
  };
  if (config.ensemble) {
    made.steps = std::make_shared<ensemble const>(name, config, [&](ensemble_step const& step) {
      auto const of = around_->all->find(step.model);
      auto const found = of == nullptr ? served_version{} : of->version({.number = step.version, .label = ""});
      if (found.runtime == nullptr)
        throw file_error("E5303", "ensemble '" + name + "': model '" + step.model + "' has no version" +
                                      (step.version == 0 ? "" : " " + std::to_string(step.version)) +
                                      " that is served");
      return found.description();
    });
    made.runtime = std::make_shared<model_engines>(made.steps->description());
    bind();
    return made;
  }
  serving::application_file const file(folder);
  for (auto const& each : config.bytes) {
    auto const& inputs = file.description().inputs;
    if (std::none_of(inputs.begin(), inputs.end(), [&](auto const& one) { return one.name == each; }))
      throw file_error("E5301", "model '" + name + "': config.pbtxt has an input '" + each +
                                    "' of TYPE_STRING, which the application does not have");
  }
  auto options = options_;
  options.runtime_api_timeout_us =
      runtime_api_timeout_us_.value_or(own.runtime_api_timeout_us.value_or(options.runtime_api_timeout_us));
  std::vector<std::unique_ptr<serving::embedded_runtime>> runtimes;
  auto const add = [&](cpu_set_t const* processors) {
    pinned_thread const pins(processors);  // memory and threads of an instance come from this thread
    runtimes.push_back(std::make_unique<serving::embedded_runtime>(file.make_servable(), options));
  };
  if (config.groups.empty())
    for (auto const& node : around_->nodes) add(&node);
  if (config.groups.empty() && around_->nodes.empty()) add(around_->policies.find(instance_group().policy));
  for (auto const& group : config.groups) {
    auto const* const processors = around_->policies.find(group.policy);
    if (group.is_named && processors == nullptr)
      throw file_error("E5304", "model '" + name + "': config.pbtxt names the host_policy '" + group.policy +
                                    "', which no --host_policy describes");
    for (int i = 0; i < group.count; ++i) add(processors);
  }
  made.runtime = std::make_shared<model_engines>(std::move(runtimes), config.bytes);
  if (config.sequences)
    made.sequences =
        std::make_shared<sequence_batcher>(name, *std::move(config.sequences), made.runtime->description());
  bind();
  return made;
}

bool served_model::load(std::string const& name, std::int64_t number, std::string const& folder) {
  {
    std::scoped_lock const lock(mutex_);
    if (!states_.contains(number)) states_[number] = {"LOADING", ""};
  }
  try {
    auto made = make(name, number, folder);
    warm_up(folder, made);
    {
      std::scoped_lock const lock(mutex_);
      served_[number] = std::move(made);
      states_[number] = {"AVAILABLE", ""};
    }
    if (log().info) std::printf("model '%s': version %lld is served\n", name.c_str(), static_cast<long long>(number));
    std::fflush(stdout);
    return true;
  } catch (std::exception const& why) {
    std::scoped_lock const lock(mutex_);
    auto& state = states_[number];
    if (log().error && state.error_message != why.what())
      std::fprintf(stderr, "model '%s': version %lld cannot be served: %s\n", name.c_str(),
                   static_cast<long long>(number), why.what());
    state = {"END", why.what()};
    return false;
  }
}

void served_model::let_go(std::string const& name, std::vector<std::int64_t> const& numbers) {
  for (auto const number : numbers) {
    served_version former;  // it ends when the last of its callers has the answer, which may be here
    {
      std::scoped_lock const lock(mutex_);
      std::erase_if(leaving_, [](auto const& each) { return each.second.expired(); });
      former = std::move(served_[number]);
      served_.erase(number);
      states_[number] = {"END", ""};
      leaving_.emplace(number, former.runtime);
      if (former.sequences != nullptr && former.sequences->count() > 0) lingering_.push_back(former);
    }
    if (log().info)
      std::printf("model '%s': version %lld is no longer served\n", name.c_str(), static_cast<long long>(number));
    std::fflush(stdout);
  }
}

std::set<std::int64_t> served_model::bring() {
  auto const told = settings();
  std::vector<served_version> done;  // they end after the lock
  {
    std::scoped_lock const lock(mutex_);
    auto const last = std::partition(lingering_.begin(), lingering_.end(),
                                     [](auto const& each) { return each.sequences->count() > 0; });
    done.assign(last, lingering_.end());
    lingering_.erase(last, lingering_.end());
  }
  auto const folders = list_versions(told.folder, has_ensemble(told.folder));
  for (auto const& each : folders) {
    if (each.problem.empty()) continue;
    std::scoped_lock const lock(mutex_);
    if (std::exchange(problems_[each.number], each.problem) != each.problem && log().error)
      std::fprintf(stderr, "model '%s': version %lld cannot be told: %s\n", told.name.c_str(),
                   static_cast<long long>(each.number), each.problem.c_str());
    if (!served_.contains(each.number)) states_[each.number] = {"END", each.problem};
  }
  auto const is_served = [this](std::int64_t number) {
    std::scoped_lock const lock(mutex_);
    return served_.contains(number);
  };
  using enum version_policy::kind;
  std::set<std::int64_t> kept;
  for (auto const& [number, folder, problem] : folders) {
    if (told.policy.which == latest && static_cast<std::int64_t>(kept.size()) >= told.policy.count) break;
    if (told.policy.which == specific && !told.policy.versions.contains(number)) continue;
    if (is_served(number) || (problem.empty() && load(told.name, number, folder))) kept.insert(number);
  }
  return kept;
}

void served_model::keep(std::set<std::int64_t> const& numbers) {
  if (numbers.empty()) return;
  std::vector<std::int64_t> others;
  for (auto const& each : versions())
    if (!numbers.contains(each.number)) others.push_back(each.number);
  let_go(settings().name, others);
}

void served_model::unload() {
  std::vector<std::int64_t> numbers;
  for (auto const& each : versions()) numbers.push_back(each.number);
  let_go(settings().name, numbers);
}

served_version served_model::version(version_choice const& which) const {
  std::scoped_lock const lock(mutex_);
  auto number = which.number;
  if (!which.label.empty()) {
    auto const label = settings_.labels.find(which.label);
    if (label == settings_.labels.end()) throw http_error{400, "Unrecognized servable version label: " + which.label};
    number = label->second;
  }
  if (served_.empty()) return {};
  auto const found = number == 0 ? std::prev(served_.end()) : served_.find(number);
  return found == served_.end() ? served_version{} : found->second;
}

served_version served_model::version_of(sequence_request const& sequence) const {
  std::scoped_lock const lock(mutex_);
  for (auto each = served_.rbegin(); each != served_.rend(); ++each)
    if (each->second.sequences != nullptr && each->second.sequences->has(sequence)) return each->second;
  for (auto const& each : lingering_)
    if (each.sequences->has(sequence)) return each;
  return {};
}

std::vector<served_version> served_model::versions() const {
  std::scoped_lock const lock(mutex_);
  std::vector<served_version> result;
  for (auto const& [number, version] : served_) result.push_back(version);
  return result;
}

std::map<std::int64_t, version_state> served_model::states() const {
  std::scoped_lock const lock(mutex_);
  auto result = states_;
  for (auto const& [number, runtime] : leaving_)
    if (auto& state = result[number]; state.state == "END" && !runtime.expired()) state.state = "UNLOADING";
  return result;
}

std::shared_ptr<served_models::table const> served_models::all() const {
  std::scoped_lock const lock(mutex_);
  return models_;
}

std::shared_ptr<served_model> served_models::find(std::string_view name) const {
  auto const present = all();
  auto const found = present->find(name);
  return found == present->end() ? nullptr : found->second;
}

void served_models::replace(table models) {
  auto next = std::make_shared<table const>(std::move(models));
  std::scoped_lock const lock(mutex_);
  std::swap(models_, next);  // the former table ends after the lock
}

}  // namespace stagecraft::tool
