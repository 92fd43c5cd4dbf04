// SPDX-License-Identifier: BSD-3-Clause
// KServe's version 2, the Open Inference Protocol, with its extension of binary tensors.
#include "serve/api.hpp"
#include "serve/tensor_json.hpp"

#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cstring>
#include <utility>

namespace stagecraft::tool {

namespace {

using io::json;

std::string version_text() {
  return std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
}

std::optional<element_type> type_of(std::string const& name) {
  constexpr std::pair<char const*, element_type> types[]{
      {"FP32", element_type::float32},  {"FP64", element_type::float64},  {"FP16", element_type::float16},
      {"BOOL", element_type::boolean},  {"INT8", element_type::int8},     {"INT16", element_type::int16},
      {"INT32", element_type::int32},   {"INT64", element_type::int64},   {"UINT8", element_type::uint8},
      {"UINT16", element_type::uint16}, {"UINT32", element_type::uint32}, {"UINT64", element_type::uint64},
      {"BF16", element_type::bfloat16}};
  for (auto const& [each, type] : types)
    if (name == each) return type;
  return std::nullopt;
}

template <class Type>
Type value_of(json const& object, char const* key, Type const& otherwise) {
  auto const found = object.find(key);
  if (found == object.end()) return otherwise;
  try {
    return found->template get<Type>();
  } catch (json::exception const&) {
    throw http_error{400, "'" + std::string(key) + "' is not as it should be"};
  }
}
json const& parameters_of(json const& object) {
  static json const none = json::object();
  auto const found = object.find("parameters");
  if (found == object.end()) return none;
  if (!found->is_object()) throw http_error{400, "'parameters' is no object"};
  return *found;
}

/// Numbers in lists, or one after the other.
void flatten(json const& value, std::vector<float>& to) {
  if (!value.is_array()) {
    if (!append_tensor(value, {}, to)) throw http_error{400, "'data' holds something that is no number"};
    return;
  }
  for (auto const& item : value) flatten(item, to);
}

struct found_input {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

found_input read_input(json const& input, std::string_view& binary) {
  auto const name = value_of<std::string>(input, "name", "");
  auto const type_name = value_of<std::string>(input, "datatype", "");
  auto const type = type_of(type_name);
  if (!type) throw http_error{400, "input '" + name + "' has datatype '" + type_name + "', which is not taken"};
  found_input result;
  result.shape = value_of<std::vector<std::int64_t>>(input, "shape", {});
  std::int64_t size = 1;
  for (auto const length : result.shape) {
    if (length < 0 || (length > 0 && size > (std::int64_t{1} << 40) / length))
      throw http_error{400, "input '" + name + "' has a shape that cannot be"};
    size *= length;
  }
  if (auto const bytes = value_of<std::int64_t>(parameters_of(input), "binary_data_size", -1); bytes >= 0) {
    if (bytes != size * static_cast<std::int64_t>(size_of(*type)) || bytes > static_cast<std::int64_t>(binary.size()))
      throw http_error{400, "input '" + name + "': binary_data_size is " + std::to_string(bytes) + ", expected " +
                                std::to_string(size * static_cast<std::int64_t>(size_of(*type))) + " of " +
                                std::to_string(binary.size()) + " bytes that are left"};
    stored_tensor tensor{name, *type, result.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    if (bytes > 0) std::memcpy(tensor.bytes.data(), binary.data(), tensor.bytes.size());
    binary.remove_prefix(tensor.bytes.size());
    result.values = io::to_floats(tensor);
  } else {
    auto const data = input.find("data");
    if (data == input.end()) throw http_error{400, "input '" + name + "' has no data"};
    flatten(*data, result.values);
  }
  if (static_cast<std::int64_t>(result.values.size()) != size)
    throw http_error{400, "input '" + name + "' has " + std::to_string(result.values.size()) + " numbers, expected " +
                              std::to_string(size)};
  return result;
}

http_response infer(server_state& state, model_path const& path, http_request const& http) {
  auto const version = find_version(state, path.model, path.version);
  auto const& known = version.engine->description();
  auto const json_length = http.json_length < 0 ? http.body.size() : static_cast<std::size_t>(http.json_length);
  if (json_length > http.body.size()) throw http_error{400, "Inference-Header-Content-Length is more than there is"};
  auto const request = parse_request(std::string_view(http.body).substr(0, json_length));
  auto binary = std::string_view(http.body).substr(json_length);
  auto const given = request.is_object() ? request.find("inputs") : request.end();
  if (!request.is_object() || given == request.end() || !given->is_array())
    throw http_error{400, "expected an object with a list 'inputs'"};

  std::vector<std::vector<float>> inputs(known.inputs.size());
  std::int64_t samples = -1;
  for (auto const& each : *given) {
    if (!each.is_object()) throw http_error{400, "an input is no object"};
    auto const name = value_of<std::string>(each, "name", "");
    auto const spec =
        std::find_if(known.inputs.begin(), known.inputs.end(), [&](auto const& one) { return one.name == name; });
    if (spec == known.inputs.end()) throw http_error{400, "there is no input '" + name + "'"};
    auto found = read_input(each, binary);
    auto expected = spec->shape;
    expected.insert(expected.begin(), found.shape.empty() ? 0 : found.shape[0]);
    if (found.shape != expected || found.shape[0] < 1)
      throw http_error{400, "input '" + name + "' has shape " + io::shape_text(found.shape) + ", expected a batch of " +
                                io::shape_text(spec->shape)};
    if (samples >= 0 && samples != found.shape[0]) throw http_error{400, "inputs have different numbers of samples"};
    samples = found.shape[0];
    inputs[static_cast<std::size_t>(spec - known.inputs.begin())] = std::move(found.values);
  }
  if (!binary.empty())
    throw http_error{400, std::to_string(binary.size()) + " bytes behind the JSON belong to no input"};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].empty()) throw http_error{400, "input '" + known.inputs[i].name + "' is missing"};

  // Which outputs, and which of them in binary; all, in JSON, unless it is said.
  bool const all_binary = value_of(parameters_of(request), "binary_data_output", false);
  std::vector<std::pair<std::size_t, bool>> wanted;
  if (auto const named = request.find("outputs"); named != request.end()) {
    if (!named->is_array()) throw http_error{400, "'outputs' is no list"};
    for (auto const& each : *named) {
      if (!each.is_object()) throw http_error{400, "an output is no object"};
      auto const name = value_of<std::string>(each, "name", "");
      auto const spec =
          std::find_if(known.outputs.begin(), known.outputs.end(), [&](auto const& one) { return one.name == name; });
      if (spec == known.outputs.end()) throw http_error{400, "there is no output '" + name + "'"};
      auto const place = static_cast<std::size_t>(spec - known.outputs.begin());
      if (std::any_of(wanted.begin(), wanted.end(), [&](auto const& one) { return one.first == place; }))
        throw http_error{400, "output '" + name + "' is asked for twice"};
      wanted.emplace_back(place, value_of(parameters_of(each), "binary_data", all_binary));
    }
  } else {
    for (std::size_t i = 0; i < known.outputs.size(); ++i) wanted.emplace_back(i, all_binary);
  }

  auto const id = value_of<std::string>(request, "id", "");

  auto const outputs = call_version(state, version, std::move(inputs), samples);
  std::string text = "{\"model_name\": ", bytes;
  write_text(path.model, text);
  text += ", \"model_version\": \"" + std::to_string(version.number) + "\"";
  if (!id.empty()) {
    text += ", \"id\": ";
    write_text(id, text);
  }
  text += ", \"outputs\": [";
  bool is_first = true;
  for (auto const& [place, is_binary] : wanted) {
    auto const& spec = known.outputs[place];
    auto const& values = outputs[place];
    text += std::exchange(is_first, false) ? "{\"name\": " : ", {\"name\": ";
    write_text(spec.name, text);
    text += ", \"datatype\": \"FP32\", \"shape\": [" + std::to_string(samples);
    for (auto const length : spec.shape) text += ", " + std::to_string(length);
    text += "]";
    if (is_binary) {
      text += ", \"parameters\": {\"binary_data_size\": " + std::to_string(values.size() * sizeof(float)) + "}";
      bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float));
    } else {
      text += ", \"data\": ";
      write_tensor(values.data(), {static_cast<std::int64_t>(values.size())}, text);
    }
    text += "}";
  }
  text += "]}";
  http_response response{.body = text};
  if (!bytes.empty()) {
    response.json_length = static_cast<std::int64_t>(text.size());
    response.content_type = "application/octet-stream";
    response.body += bytes;
  }
  return response;
}

json tensors_of(std::vector<serving::tensor_spec> const& specs) {
  auto list = json::array();
  for (auto const& spec : specs) {
    auto shape = json::array({-1});
    for (auto const length : spec.shape) shape.push_back(length);
    list.push_back({{"name", spec.name}, {"datatype", "FP32"}, {"shape", shape}});
  }
  return list;
}

}  // namespace

http_response answer_kserve(server_state& state, http_request const& request) {
  bool const reads = request.method == "GET";
  auto const dump = [](json const& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; };
  if (reads && request.path == "/v2")
    return {.body =
                dump({{"name", "stagecraft"}, {"version", version_text()}, {"extensions", {"binary_tensor_data"}}})};
  if (reads && request.path == "/v2/health/live") return {.body = dump({{"live", true}})};
  if (reads && request.path == "/v2/health/ready") {
    bool is_ready = !state.is_stopping;
    for (auto const& [name, model] : state.models) is_ready = is_ready && model->version().engine != nullptr;
    return {.status = is_ready ? 200 : 503, .body = dump({{"ready", is_ready}})};
  }
  constexpr std::string_view begin = "/v2/models/";
  if (!request.path.starts_with(begin)) throw http_error{404, "Not found: " + request.path};
  auto const path = parse_model_path(std::string_view(request.path).substr(begin.size()));
  if (path.rest == "/infer" && !reads) return infer(state, path, request);
  if (path.rest == "/ready" && reads) {
    (void)find_version(state, path.model, path.version);
    return {.status = state.is_stopping ? 503 : 200,
            .body = dump({{"name", path.model}, {"ready", !state.is_stopping}})};
  }
  if (path.rest.empty() && reads) {
    auto const version = find_version(state, path.model, path.version);
    auto const& known = version.engine->description();
    return {.body = dump({{"name", path.model},
                          {"versions", {std::to_string(version.number)}},
                          {"platform", "stagecraft"},
                          {"inputs", tensors_of(known.inputs)},
                          {"outputs", tensors_of(known.outputs)}})};
  }
  throw http_error{404, "Not found: " + request.method + " " + request.path};
}

}  // namespace stagecraft::tool
