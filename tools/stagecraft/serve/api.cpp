// SPDX-License-Identifier: BSD-3-Clause
#include "serve/api.hpp"

#include "serve/models/model_watcher.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

namespace stagecraft::tool {

http_response answer(server_state& state, http_request request) {
  try {
    if (request.path == state.metrics_paths[0] || request.path == state.metrics_paths[1])
      return {.body = state.metrics.text(state.models), .content_type = "text/plain; version=0.0.4"};
    if (request.path.starts_with("/v1/models/")) return answer_rest(state, request);
    if (request.path == "/v2" || request.path.starts_with("/v2/")) return answer_kserve(state, request);
    throw http_error{404, "Not found: " + request.path};
  } catch (http_error const& why) {
    return error_response(why.status, why.text);
  } catch (std::bad_alloc const&) {
    return error_response(503, "the machine has no more memory");
  } catch (std::exception const& why) {
    return error_response(500, why.what());
  }
}

bool is_ready(server_state const& state) {
  bool result = !state.is_stopping;
  for (auto const& [name, model] : *state.models.all()) result = result && model->version().runtime != nullptr;
  return result;
}

served_version find_version(server_state const& state, std::string_view model, version_choice const& which) {
  auto const found = state.models.find(model);
  if (found != nullptr)
    if (auto version = found->version(which); version.runtime != nullptr) return version;
  auto number = which.number;
  if (!which.label.empty()) {
    auto const labels = found == nullptr ? model_settings{}.labels : found->settings().labels;
    auto const label = labels.find(which.label);  // it may have gone in this moment
    if (label == labels.end()) throw http_error{400, "Unrecognized servable version label: " + which.label};
    number = label->second;
  }
  throw http_error{404, "Servable not found for request: " +
                            (number > 0 ? "Specific(" + std::string(model) + ", " + std::to_string(number) + ")"
                                        : "Latest(" + std::string(model) + ")")};
}

served_version find_version(server_state const& state, std::string_view model, served_version found,
                            sequence_request const& sequence) {
  if (sequence.id.empty() || sequence.starts) return found;
  auto const own = state.models.find(model);
  auto begun = own == nullptr ? served_version{} : own->version_of(sequence);
  return begun.runtime == nullptr ? found : begun;
}

std::vector<std::vector<float>> call_version(server_state& state, served_version const& version,
                                             std::vector<std::vector<float>> inputs, std::int64_t samples,
                                             counted_bytes& counted, call_options const& options) {
  if (version.sequences == nullptr && !options.sequence.id.empty())
    throw http_error{400,
                     "the request has the parameter 'sequence_id', but the model keeps no state: it has no "
                     "config.pbtxt with sequence_batching"};
  // The outputs are counted before the call, since a small request may ask for an answer of any size.
  double bytes = 0;
  for (auto const& output : version.description().outputs)
    bytes += static_cast<double>(output.size()) * static_cast<double>(samples) * sizeof(float);
  auto const most = state.max_bytes_in_flight;
  if (bytes > static_cast<double>(most))
    throw http_error{413, "the answer would have more than " + std::to_string(most) + " bytes: ask for fewer samples"};
  if (!counted.grow_to(static_cast<std::size_t>(bytes), most))
    throw http_error{503,
                     "the requests that are there have " + std::to_string(most) + " bytes, as many as they may have"};
  auto const begin = std::chrono::steady_clock::now();
  struct counter {
    ~counter() { to.count(has_succeeded, std::chrono::steady_clock::now() - begin); }
    call_times& to;
    std::chrono::steady_clock::time_point begin;
    bool has_succeeded = false;
  } counts{*version.times, begin};
  try {
    auto result = version.sequences != nullptr
                      ? version.sequences->call(*version.runtime, std::move(inputs), samples, options.sequence,
                                                options.time, options.priority)
                      : version.runtime->call(std::move(inputs), samples, options.time, options.priority);
    counts.has_succeeded = true;
    return result;
  } catch (data_error const& why) {
    throw http_error{400, why.what()};
  } catch (serving::queue_full const& why) {
    throw http_error{503, why.what()};
  } catch (serving::runtime_stopped const& why) {
    throw http_error{503, why.what()};
  } catch (serving::recoverable_runtime_error const& why) {
    throw http_error{503, why.what()};
  } catch (serving::deadline_exceeded const& why) {
    throw http_error{504, why.what()};
  }
}

shared_regions& memory_of(server_state& state) {
  if (state.memory == nullptr)
    throw http_error{400, "this server shares no memory with its clients: it was begun without --allow_shared_memory"};
  return *state.memory;
}

std::vector<std::string> state_calls::names() {
  std::vector<std::string> result;
  for (auto const& [name, model] : *state_.models.all()) result.push_back(name);
  return result;
}

std::map<std::int64_t, version_state> state_calls::states(std::string_view model) {
  auto const found = state_.models.find(model);
  return found == nullptr ? std::map<std::int64_t, version_state>() : found->states();
}

std::vector<std::int64_t> state_calls::numbers(std::string_view model) {
  std::vector<std::int64_t> result;
  if (auto const found = state_.models.find(model))
    for (auto const& each : found->versions()) result.push_back(each.number);
  return result;
}

bool state_calls::is_ready() { return tool::is_ready(state_); }
void state_calls::reload(std::vector<model_settings> models) { state_.watcher->reload(std::move(models)); }
void state_calls::load(std::string const& name) { state_.watcher->load(name); }
void state_calls::unload(std::string const& name) { state_.watcher->unload(name); }

model_path parse_model_path(std::string_view path, bool has_labels) {
  model_path result;
  auto const end = path.find_first_of("/:");
  result.model = path.substr(0, end);
  if (end == std::string_view::npos) return result;
  path.remove_prefix(end);
  constexpr std::string_view versions = "/versions/", labels = "/labels/";
  if (path.starts_with(versions)) {
    path.remove_prefix(versions.size());
    std::int64_t number = 0;
    auto const [last, problem] = std::from_chars(path.data(), path.data() + path.size(), number);
    if (problem != std::errc() || number < 1) throw http_error{404, "there is no version " + std::string(path)};
    result.version.number = number;
    path.remove_prefix(static_cast<std::size_t>(last - path.data()));
  } else if (has_labels && path.starts_with(labels)) {
    path.remove_prefix(labels.size());
    auto const length = std::min(path.find_first_of("/:"), path.size());
    result.version.label = path.substr(0, length);
    if (length == 0) throw http_error{404, "there is no label in the path"};
    path.remove_prefix(length);
  }
  result.rest = path;
  return result;
}

}  // namespace stagecraft::tool
