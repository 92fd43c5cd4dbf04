// SPDX-License-Identifier: BSD-3-Clause
#include "serve/api.hpp"

#include "serve/models/model_watcher.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <utility>

namespace stagecraft::tool {

namespace {

/// Ensembles in ensembles; more can only be those that contain themselves.
constexpr int deepest = 8;

served_version find_step(server_state const& state, std::string const& name, ensemble_step const& step) {
  auto const found = state.models.find(step.model);
  auto version = found == nullptr ? served_version{} : found->version({.number = step.version, .label = ""});
  if (version.runtime == nullptr)
    throw http_error{503, "ensemble '" + name + "': model '" + step.model + "' has no version" +
                              (step.version == 0 ? "" : " " + std::to_string(step.version)) + " that is served"};
  return version;
}

/// True if a call of the version may be one of a sequence.
bool takes_sequences(server_state const& state, served_version const& version, int depth) {
  if (version.sequences != nullptr) return true;
  if (version.steps == nullptr || depth > deepest) return false;
  for (auto const& step : version.steps->steps()) {
    auto const found = state.models.find(step.model);
    auto const own = found == nullptr ? served_version{} : found->version({.number = step.version, .label = ""});
    if (own.runtime != nullptr && takes_sequences(state, own, depth + 1)) return true;
  }
  return false;
}

/// Calls the models of an ensemble, one after the other, in the time of the whole call.
std::vector<std::vector<float>> call_ensemble(server_state& state, served_version const& version,
                                              std::vector<std::vector<float>> inputs, std::int64_t samples,
                                              call_options const& options) {
  auto const& name = *version.model;
  if (options.depth >= deepest) throw http_error{500, "ensemble '" + name + "' contains itself"};
  auto const until = std::chrono::steady_clock::now() + options.time;
  counted_bytes counted(state.bytes_in_flight);
  std::size_t bytes = 0;
  auto result = version.steps->run(
      std::move(inputs), samples, [&](ensemble_step const& step, ensemble::gather_function const& inputs_of) {
        auto own = options;
        ++own.depth;
        if (own.time.count() > 0) {
          own.time = std::chrono::duration_cast<std::chrono::microseconds>(until - std::chrono::steady_clock::now());
          if (own.time.count() <= 0)
            throw http_error{504, "ensemble '" + name + "': the call was not answered in its time"};
        }
        auto of = find_step(state, name, step);
        if (!takes_sequences(state, of, own.depth))
          own.sequence = {};
        else if (step.version == 0)
          of = find_version(state, step.model, std::move(of), own.sequence);
        // All tensors count until the ensemble's answer is there.
        for (auto const& output : of.description().outputs)
          bytes += static_cast<std::size_t>(output.size() * samples) * sizeof(float);
        if (!counted.grow_to(bytes, state.max_bytes_in_flight))
          throw http_error{503, "the requests that are there have " + std::to_string(state.max_bytes_in_flight) +
                                    " bytes, as many as they may have"};
        counted_bytes none(state.bytes_in_flight);
        auto outputs = call_version(state, of, inputs_of(of.description()), samples, none, own);
        return ensemble::step_result{of.description(), std::move(outputs)};
      });
  version.runtime->count(samples);
  return result;
}

}  // namespace

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
  for (auto const& [name, model] : *state.models.all()) result = result && answers(state, model->version());
  return result;
}

bool answers(server_state const& state, served_version const& version, int depth) {
  if (version.runtime == nullptr || depth > deepest) return false;
  if (version.steps == nullptr) return true;
  for (auto const& step : version.steps->steps()) {
    auto const found = state.models.find(step.model);
    if (found == nullptr || !answers(state, found->version({.number = step.version, .label = ""}), depth + 1))
      return false;
  }
  return true;
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
  if (!options.sequence.id.empty() && !takes_sequences(state, version, 0))
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
    ~counter() {
      auto const end = std::chrono::steady_clock::now();
      of.times->count(has_succeeded, end - begin);
      if (trace != 0) state.traces.end(trace, *of.model, of.number, parent, begin, end);
      if (log().verbose > 0)
        std::fprintf(stderr, "model '%s': version %lld: a call of %lld samples has %s in %.3f ms\n", of.model->c_str(),
                     static_cast<long long>(of.number), static_cast<long long>(samples),
                     has_succeeded ? "succeeded" : "failed",
                     std::chrono::duration<double, std::milli>(end - begin).count());
    }
    server_state& state;
    served_version const& of;
    std::int64_t samples;
    std::chrono::steady_clock::time_point begin;
    std::uint64_t trace;
    std::string_view parent;
    bool has_succeeded = false;
  } counts{state, version, samples, begin, options.depth == 0 ? state.traces.begin(*version.model) : 0, options.parent};
  try {
    auto result = version.steps != nullptr ? call_ensemble(state, version, std::move(inputs), samples, options)
                  : version.sequences != nullptr
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

log_values state_calls::change_log(log_values const& to) {
  log().change(to);
  return log().values();
}

trace_values state_calls::change_traces(std::string const& model, trace_values const& to) {
  if (!model.empty()) (void)find_version(state_, model, {});
  if (!to.empty()) state_.traces.change(model, to);
  return state_.traces.values(model);
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
void state_calls::unload(std::string const& name, bool with_steps) { state_.watcher->unload(name, with_steps); }
bool state_calls::answers(served_version const& version) { return tool::answers(state_, version); }

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
