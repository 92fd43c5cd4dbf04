// SPDX-License-Identifier: BSD-3-Clause
// Triton's extensions about models: the repository and its control, and statistics.
#include "serve/api.hpp"
#include "serve/input_tensors.hpp"
#include "serve/json_reader.hpp"
#include "serve/models/model_watcher.hpp"
#include "serve/tensor_json.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::tool {

namespace {

/// Calls `each(key)` before each value of a request's object, which may be empty. `each` reads the value.
template <class Each>
void read_request(std::string const& body, Each const& each) {
  if (body.find_first_not_of(" \t\r\n") == std::string::npos) return;
  json_reader::read_all(body, [&](json_reader& reader) {
    if (reader.next() != json_reader::kind::object) throw http_error{400, "expected a JSON object"};
    reader.read_object([&](std::string const& key) { each(reader, key); });
  });
}

http_response index(server_state& state, std::string const& body) {
  bool ready_alone = false;
  read_request(body, [&](json_reader& reader, std::string const& key) {
    if (key != "ready") return reader.skip();
    if (reader.next() != json_reader::kind::boolean) throw http_error{400, "'ready' is not as it should be"};
    ready_alone = reader.read_boolean();
  });
  json_writer writer;
  writer.begin('[');
  state_calls calls(state);
  for (auto const& each : index_of(calls, ready_alone)) {
    writer.begin('{').key("name").value(each.name);
    if (!each.version.empty()) writer.key("version").value(each.version);
    writer.key("state").value(each.state).key("reason").value(each.reason).end();
  }
  return {.body = std::move(writer.end()).text()};
}

/// Refuses parameters, which would have to be obeyed. Returns true if an ensemble's models are to be unloaded with it.
bool read_parameters(std::string const& body, bool unloads) {
  bool with_steps = false;
  read_request(body, [&](json_reader& reader, std::string const& key) {
    if (key != "parameters") return reader.skip();
    if (reader.next() != json_reader::kind::object) throw http_error{400, "'parameters' is no object"};
    reader.read_object([&](std::string const& name) {
      if (!unloads || name != "unload_dependents")
        throw http_error{400, "the parameter '" + name + "' is not taken: a model is what its folder has"};
      if (reader.next() != json_reader::kind::boolean) throw http_error{400, "'" + name + "' is no boolean"};
      with_steps = reader.read_boolean();
    });
  });
  return with_steps;
}

void write(json_writer& writer, char const* name, call_times::sum const& of) {
  writer.key(name).begin('{').key("count").value(of.calls).key("ns").value(of.nanoseconds).end();
}

http_response statistics(server_state& state, std::string_view model, std::int64_t number) {
  json_writer writer;
  writer.begin('{').key("model_stats").begin('[');
  for (auto const& [name, of] : *state.models.all()) {
    if (!model.empty() && model != name) continue;
    for (auto const& version : of->versions()) {
      if (number != 0 && number != version.number) continue;
      auto const counts = version.runtime->statistics();
      writer.begin('{').key("name").value(name).key("version").value(std::to_string(version.number));
      writer.key("last_inference").value(version.times->last());
      writer.key("inference_count").value(counts.samples).key("execution_count").value(counts.batches);
      writer.key("inference_stats").begin('{');
      write(writer, "success", version.times->succeeded());
      write(writer, "fail", version.times->failed());
      write(writer, "queue", queue_of(counts));
      writer.end().end();
    }
  }
  return {.body = std::move(writer.end().end()).text()};
}

/// Triton's configuration of a model, as far as an application has it.
http_response configuration(std::string const& name, served_version const& version) {
  auto const& known = version.description();
  json_writer writer;
  writer.begin('{').key("name").value(name);
  if (version.steps == nullptr)
    writer.key("platform").value("stagecraft").key("backend").value("stagecraft");
  else
    writer.key("platform").value("ensemble");
  writer.key("max_batch_size").value(std::int64_t{known.batch_size});
  auto const write_tensors = [&](char const* key, std::vector<serving::tensor_spec> const& specs) {
    writer.key(key).begin('[');
    for (auto const& spec : specs) {
      writer.begin('{')
          .key("name")
          .value(spec.name)
          .key("data_type")
          .value(spec.is_bytes ? "TYPE_STRING" : "TYPE_FP32");
      writer.key("dims").begin('[');
      for (auto const length : visible_shape(spec)) writer.value(length);
      writer.end().end();
    }
    writer.end();
  };
  write_tensors("input", known.inputs);
  write_tensors("output", known.outputs);
  auto const write_map = [&](char const* key, std::map<std::string, std::string> const& names) {
    writer.key(key).begin('{');
    for (auto const& [own, tensor] : names) writer.key(own).value(tensor);
    writer.end();
  };
  if (version.steps != nullptr) {
    writer.key("ensemble_scheduling").begin('{').key("step").begin('[');
    for (auto const& step : version.steps->steps()) {
      writer.begin('{').key("model_name").value(step.model).key("model_version");
      writer.value(step.version == 0 ? std::int64_t{-1} : step.version);
      write_map("input_map", step.inputs);
      write_map("output_map", step.outputs);
      writer.end();
    }
    writer.end();
    return {.body = std::move(writer.end().end()).text()};
  }
  writer.key(version.sequences == nullptr ? "dynamic_batching" : "sequence_batching").begin('{');
  if (version.sequences != nullptr)
    writer.key("max_sequence_idle_microseconds").value(std::int64_t{version.sequences->idle().count()});
  return {.body = std::move(writer.end().end()).text()};
}

/// The paths of system_shared_memory behind "systemsharedmemory/".
std::optional<http_response> answer_memory(server_state& state, std::string_view path, http_request const& request) {
  constexpr std::string_view regions = "region/";
  shared_region region;
  if (path.starts_with(regions)) {
    path.remove_prefix(regions.size());
    auto const slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return std::nullopt;
    region.name = path.substr(0, slash);
    path.remove_prefix(slash + 1);
  }
  bool const reads = request.method == "GET";
  auto& memory = memory_of(state);
  if (reads && path == "status") {
    json_writer writer;
    writer.begin('[');
    for (auto const& each : memory.list(region.name)) {
      writer.begin('{').key("name").value(each.name).key("key").value(each.key);
      writer.key("offset").value(static_cast<std::int64_t>(each.offset));
      writer.key("byte_size").value(static_cast<std::int64_t>(each.size)).end();
    }
    return http_response{.body = std::move(writer.end()).text()};
  }
  if (!reads && path == "unregister") {
    memory.remove(region.name);
    return http_response{.body = ""};
  }
  if (reads || path != "register" || region.name.empty()) return std::nullopt;
  read_request(request.body, [&](json_reader& reader, std::string const& key) {
    std::int64_t number = 0;
    if (key == "key" && reader.next() == json_reader::kind::text)
      region.key = reader.read_text();
    else if ((key == "offset" || key == "byte_size") && reader.read_integer(number) && number >= 0)
      (key == "offset" ? region.offset : region.size) = static_cast<std::uint64_t>(number);
    else if (key == "key" || key == "offset" || key == "byte_size")
      throw http_error{400, "'" + key + "' is not as it should be"};
    else
      reader.skip();
  });
  memory.add(region);
  return http_response{.body = ""};
}

}  // namespace

std::optional<http_response> answer_triton(server_state& state, std::string_view path, http_request& request) {
  bool const reads = request.method == "GET";
  constexpr std::string_view repository = "repository/", models = "models/", stats = "/stats", config = "/config";
  if (auto answer = answer_settings(state, path, request)) return answer;
  if (reads && path == "models/stats") return statistics(state, "", 0);
  if (reads && path.starts_with(models) && path.ends_with(stats)) {
    auto const parts = parse_model_path(path.substr(models.size()), false);
    if (parts.rest != stats) return std::nullopt;
    (void)find_version(state, parts.model, parts.version);
    return statistics(state, parts.model, parts.version.number);
  }
  if (reads && path.starts_with(models) && path.ends_with(config)) {
    auto const parts = parse_model_path(path.substr(models.size()), false);
    if (parts.rest != config) return std::nullopt;
    return configuration(parts.model, find_version(state, parts.model, parts.version));
  }
  if (constexpr std::string_view memory = "systemsharedmemory/"; path.starts_with(memory))
    return answer_memory(state, path.substr(memory.size()), request);
  if (reads || !path.starts_with(repository)) return std::nullopt;
  path.remove_prefix(repository.size());
  if (path == "index") return index(state, request.body);
  if (!path.starts_with(models)) return std::nullopt;
  path.remove_prefix(models.size());
  auto const slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string const name(path.substr(0, slash));
  auto const action = path.substr(slash + 1);
  if (action != "load" && action != "unload") return std::nullopt;
  bool const with_steps = read_parameters(request.body, action == "unload");
  if (action == "load")
    state.watcher->load(name);
  else
    state.watcher->unload(name, with_steps);
  return http_response{.body = ""};
}

}  // namespace stagecraft::tool
