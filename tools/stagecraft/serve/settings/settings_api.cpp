// SPDX-License-Identifier: BSD-3-Clause
// Triton's extensions of settings: what is logged, and which calls are traced.
#include "serve/api.hpp"
#include "serve/json_reader.hpp"
#include "serve/tensor_json.hpp"

#include <limits>
#include <utility>

namespace stagecraft::tool {

namespace {

/// Calls `each(key)` before each value of a request's object.
template <class Each>
void read_object(std::string const& body, Each const& each) {
  json_reader::read_all(body, [&](json_reader& reader) {
    if (reader.next() != json_reader::kind::object) throw http_error{400, "expected a JSON object"};
    reader.read_object([&](std::string const& key) { each(reader, key); });
  });
}

std::string read_value(json_reader& reader, std::string const& key) {
  if (reader.next() == json_reader::kind::text) return reader.read_text();
  std::int64_t number = 0;
  if (!reader.read_integer(number)) throw http_error{400, "'" + key + "' is neither a text nor a whole number"};
  return std::to_string(number);
}

http_response answer_log(http_request const& request) {
  log_values changes;
  if (request.method == "POST") {
    read_object(request.body, [&](json_reader& reader, std::string const& key) {
      std::int64_t number = 0;
      if (reader.next() == json_reader::kind::boolean)
        changes[key] = reader.read_boolean();
      else if (reader.next() == json_reader::kind::text)
        changes[key] = reader.read_text();
      else if (reader.read_integer(number) && number >= 0 && number <= std::numeric_limits<std::uint32_t>::max())
        changes[key] = static_cast<std::uint32_t>(number);
      else
        throw http_error{400, "'" + key + "' is not as it should be"};
    });
    log().change(changes);
  }
  json_writer writer;
  writer.begin('{');
  for (auto const& [name, value] : log().values()) {
    writer.key(name);
    if (auto const* truth = std::get_if<bool>(&value)) writer.value(*truth);
    if (auto const* number = std::get_if<std::uint32_t>(&value)) writer.value(std::int64_t{*number});
    if (auto const* text = std::get_if<std::string>(&value)) writer.value(*text);
  }
  return {.body = std::move(writer.end()).text()};
}

http_response answer_trace(server_state& state, std::string const& model, http_request const& request) {
  if (!model.empty()) (void)find_version(state, model, {});
  if (request.method == "POST") {
    trace_values changes;
    read_object(request.body, [&](json_reader& reader, std::string const& key) {
      auto& values = changes[key];
      if (reader.next() == json_reader::kind::null)
        reader.skip();
      else if (reader.next() == json_reader::kind::list)
        (void)reader.read_list([&] { values.push_back(read_value(reader, key)); });
      else
        values.push_back(read_value(reader, key));
    });
    state.traces.change(model, changes);
  }
  json_writer writer;
  writer.begin('{');
  for (auto const& [name, values] : state.traces.values(model)) {
    writer.key(name);
    if (name != "trace_level") {
      writer.value(values.front());
      continue;
    }
    writer.begin('[');
    for (auto const& each : values) writer.value(each);
    writer.end();
  }
  return {.body = std::move(writer.end()).text()};
}

}  // namespace

std::optional<http_response> answer_settings(server_state& state, std::string_view path, http_request const& request) {
  constexpr std::string_view models = "models/", setting = "/trace/setting";
  if (path == "logging") return answer_log(request);
  if (path == setting.substr(1)) return answer_trace(state, "", request);
  if (!path.starts_with(models) || !path.ends_with(setting)) return std::nullopt;
  auto const parts = parse_model_path(path.substr(models.size()), false);
  if (parts.rest != setting) return std::nullopt;
  return answer_trace(state, parts.model, request);
}

}  // namespace stagecraft::tool
