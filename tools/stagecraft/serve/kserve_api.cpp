// SPDX-License-Identifier: BSD-3-Clause
// KServe's version 2, the Open Inference Protocol, with its extension of binary tensors.
#include "serve/api.hpp"
#include "serve/infer_request.hpp"

#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft::tool {

namespace {

/// The numbers of an input of BYTES: texts in JSON, or each after its length in binary data or shared memory.
std::vector<float> numbers_of_texts(server_state& state, serving::tensor_spec const& spec, given_input& input,
                                    std::string_view& binary, counted_bytes& counted, std::size_t& bytes_in_all) {
  auto const count = element_count(input.name, input.shape);
  auto const most = state.max_bytes_in_flight;
  if (!counted.grow_to(bytes_in_all += bytes_of_numbers(spec, count, most), most))
    throw http_error{503, "the requests that are there have as many bytes as they may have"};
  std::vector<float> values;
  auto const bytes = input.binary_size;
  int const forms = (input.has_data ? 1 : 0) + (bytes >= 0 ? 1 : 0) + (input.memory.region.empty() ? 0 : 1);
  if (forms != 1) throw http_error{400, "input '" + input.name + "' has no data, or data in two forms"};
  if (input.has_data) {
    if (static_cast<std::int64_t>(input.texts.size()) != count)
      throw http_error{400, "input '" + input.name + "' has " + std::to_string(input.texts.size()) +
                                " texts, expected " + std::to_string(count)};
    for (auto const& each : input.texts) append_bytes(spec, each, values);
  } else if (bytes >= 0) {
    if (bytes > static_cast<std::int64_t>(binary.size()))
      throw http_error{400, "input '" + input.name + "': binary_data_size is " + std::to_string(bytes) + ", but " +
                                std::to_string(binary.size()) + " bytes are left"};
    append_packed_bytes(spec, count, binary.substr(0, static_cast<std::size_t>(bytes)), values);
    binary.remove_prefix(static_cast<std::size_t>(bytes));
  } else {
    append_packed_bytes(spec, count, memory_of(state).read(input.memory), values);
  }
  return values;
}

/// The numbers of an input, as many as its shape has; binary ones are taken from the front of the remaining bytes.
std::vector<float> values_of(server_state& state, given_input& input, std::string_view& binary, counted_bytes& counted,
                             std::size_t& bytes_in_all) {
  auto const& name = input.name;
  auto const type = kserve_type(name, input.type);
  auto const size = element_count(name, input.shape);
  if (!input.memory.region.empty()) {
    if (input.has_data || input.binary_size >= 0)
      throw http_error{400, "input '" + name + "' has data, and shared memory as well"};
    auto const& memory = memory_of(state);
    auto const bytes = static_cast<std::size_t>(size) * io::facts_of(type).size;
    check_memory_size(name, input.memory, bytes);
    if (!counted.grow_to(bytes_in_all += bytes, state.max_bytes_in_flight))
      throw http_error{503, "the requests that are there have as many bytes as they may have"};
    return numbers_of_bytes(name, type, input.shape, memory.read(input.memory));
  }
  if (auto const bytes = input.binary_size; bytes >= 0) {
    auto const expected = size * static_cast<std::int64_t>(io::facts_of(type).size);
    if (bytes != expected || bytes > static_cast<std::int64_t>(binary.size()))
      throw http_error{400, "input '" + name + "': binary_data_size is " + std::to_string(bytes) + ", expected " +
                                std::to_string(expected) + " of " + std::to_string(binary.size()) +
                                " bytes that are left"};
    if (input.has_data) throw http_error{400, "input '" + name + "' has 'data', and binary data as well"};
    input.values = numbers_of_bytes(name, type, input.shape, binary.substr(0, static_cast<std::size_t>(bytes)));
    binary.remove_prefix(static_cast<std::size_t>(bytes));
  } else if (!input.has_data) {
    throw http_error{400, "input '" + name + "' has no data"};
  }
  if (static_cast<std::int64_t>(input.values.size()) != size)
    throw http_error{400, "input '" + name + "' has " + std::to_string(input.values.size()) + " numbers, expected " +
                              std::to_string(size)};
  return std::move(input.values);
}

http_response infer(server_state& state, model_path const& path, http_request& http) {
  auto version = find_version(state, path.model, path.version);
  auto const json_length = http.json_length < 0 ? http.body.size() : static_cast<std::size_t>(http.json_length);
  if (json_length > http.body.size()) throw http_error{400, "Inference-Header-Content-Length is more than there is"};
  infer_request request;
  request.options.time = state.time;
  request.options.parent = http.parent;
  request.read(std::string_view(http.body).substr(0, json_length), version.description().inputs.size(),
               version.description().outputs.size());
  if (path.version.number == 0) version = find_version(state, path.model, std::move(version), request.options.sequence);
  auto const& known = version.description();
  auto binary = std::string_view(http.body).substr(json_length);

  input_tensors inputs(known.inputs);
  auto bytes_in_all = http.body.size();
  for (auto& each : request.inputs) {
    auto const* const spec = find_spec(known.inputs, each.name);
    if (spec != nullptr) check_bytes(*spec, each.type, each.type == "BYTES");
    if (spec != nullptr && spec->is_bytes) {
      auto const place = inputs.place_of(each.name, each.shape);
      inputs.values[place] = numbers_of_texts(state, *spec, each, binary, *http.counted, bytes_in_all);
      continue;
    }
    auto values = values_of(state, each, binary, *http.counted, bytes_in_all);
    inputs.values[inputs.place_of(each.name, each.shape)] = std::move(values);
  }
  if (!binary.empty())
    throw http_error{400, std::to_string(binary.size()) + " bytes behind the JSON belong to no input"};
  inputs.check_all();
  std::string().swap(http.body);

  // The wanted outputs. By default all of them, as numbers in JSON.
  struct wanted_place {
    std::size_t place;
    bool is_binary;
    std::int64_t classes = 0;
    shared_part memory = {};
  };
  std::vector<wanted_place> wanted;
  for (auto const& each : request.outputs) {
    auto const place = place_of_output(known.outputs, each.name);
    if (std::any_of(wanted.begin(), wanted.end(), [&](auto const& one) { return one.place == place; }))
      throw http_error{400, "output '" + each.name + "' is asked for twice"};
    if (each.classes < 0) throw http_error{400, "'classification' of output '" + each.name + "' is less than 0"};
    wanted.push_back({place, each.is_binary.value_or(request.all_binary), each.classes, each.memory});
  }
  if (wanted.empty())  // an empty list asks for all, too
    for (std::size_t i = 0; i < known.outputs.size(); ++i) wanted.push_back({i, request.all_binary});

  auto const outputs =
      call_version(state, version, std::move(inputs.values), inputs.samples, *http.counted, request.options);
  std::string text = "{\"model_name\": ", bytes;
  write_text(path.model, text);
  text += ", \"model_version\": \"" + std::to_string(version.number) + "\"";
  if (!request.id.empty()) {
    text += ", \"id\": ";
    write_text(request.id, text);
  }
  text += ", \"outputs\": [";
  bool is_first = true;
  for (auto const& [place, is_binary, classes, memory] : wanted) {
    auto const& spec = known.outputs[place];
    auto const& values = outputs[place];
    text += std::exchange(is_first, false) ? "{\"name\": " : ", {\"name\": ";
    write_text(spec.name, text);
    if (classes > 0) {
      if (!memory.region.empty())
        throw http_error{400, "output '" + spec.name + "' has 'classification' and shared memory as well"};
      auto const found = best_classes(values, inputs.samples, classes);
      text += ", \"datatype\": \"BYTES\", \"shape\": [" + std::to_string(inputs.samples) + ", " +
              std::to_string(static_cast<std::int64_t>(found.size()) / inputs.samples) + "]";
      if (is_binary) {
        auto const packed = packed_texts(found);
        text += ", \"parameters\": {\"binary_data_size\": " + std::to_string(packed.size()) + "}}";
        bytes += packed;
      } else {
        text += ", \"data\": [";
        for (std::size_t i = 0; i < found.size(); ++i) {
          if (i > 0) text += ", ";
          write_text(found[i], text);
        }
        text += "]}";
      }
      continue;
    }
    text += ", \"datatype\": \"FP32\", \"shape\": [" + std::to_string(inputs.samples);
    for (auto const length : spec.shape) text += ", " + std::to_string(length);
    text += "]";
    if (!memory.region.empty()) {
      auto const size = values.size() * sizeof(float);
      memory_of(state).write(memory, values.data(), size);
      text += ", \"parameters\": {\"shared_memory_region\": ";
      write_text(memory.region, text);
      text += ", \"shared_memory_offset\": " + std::to_string(memory.offset) +
              ", \"shared_memory_byte_size\": " + std::to_string(size) + "}";
    } else if (is_binary) {
      text += ", \"parameters\": {\"binary_data_size\": " + std::to_string(values.size() * sizeof(float)) + "}";
      bytes.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float));
    } else {
      text += ", \"data\": ";
      write_tensor(values.data(), {static_cast<std::int64_t>(values.size())}, request.how, spec.name, text);
    }
    text += "}";
  }
  text += "]}";
  http_response response{.body = std::move(text)};
  if (!bytes.empty()) {
    response.json_length = static_cast<std::int64_t>(response.body.size());
    response.content_type = "application/octet-stream";
    response.body += bytes;
  }
  return response;
}

void write_tensors(json_writer& writer, std::vector<serving::tensor_spec> const& specs) {
  writer.begin('[');
  for (auto const& spec : specs) {
    writer.begin('{').key("name").value(spec.name).key("datatype").value(spec.is_bytes ? "BYTES" : "FP32");
    writer.key("shape").begin('[').value(-1);
    for (auto const length : visible_shape(spec)) writer.value(length);
    writer.end().end();
  }
  writer.end();
}

http_response metadata(server_state& state, std::string const& name, served_version const& version) {
  auto const& known = version.description();
  json_writer writer;
  writer.begin('{').key("name").value(name).key("versions").begin('[');
  for (auto const number : state_calls(state).numbers(name)) writer.value(std::to_string(number));
  writer.end();
  write_tensors(writer.key("platform").value(version.steps == nullptr ? "stagecraft" : "ensemble").key("inputs"),
                known.inputs);
  write_tensors(writer.key("outputs"), known.outputs);
  return {.body = std::move(writer.end()).text()};
}

}  // namespace

http_response answer_kserve(server_state& state, http_request& request) {
  bool const reads = request.method == "GET";
  json_writer writer;
  if (reads && request.path == "/v2") {
    writer.begin('{').key("name").value("stagecraft").key("version").value(version_text());
    writer.key("extensions").begin('[');
    for (auto const* each : triton_extensions) writer.value(each);
    writer.value("binary_tensor_data").end();
    return {.body = std::move(writer.end()).text()};
  }
  // Health is answered without an allocation, whatever memory lacks.
  if (reads && request.path == "/v2/health/live") return {.body = "{\"live\":true}"};
  if (reads && request.path == "/v2/health/ready") {
    bool const answer = is_ready(state);
    return {.status = answer ? 200 : 503, .body = answer ? "{\"ready\":true}" : "{\"ready\":false}"};
  }
  constexpr std::string_view begin = "/v2/models/", all = "/v2/";
  if (request.path.starts_with(all))
    if (auto answer = answer_triton(state, std::string_view(request.path).substr(all.size()), request)) return *answer;
  if (!request.path.starts_with(begin)) throw http_error{404, "Not found: " + request.path};
  auto const path = parse_model_path(std::string_view(request.path).substr(begin.size()), false);
  if (path.rest == "/infer" && !reads) return infer(state, path, request);
  if (path.rest == "/ready" && reads) {
    bool const is_there = answers(state, find_version(state, path.model, path.version)) && !state.is_stopping;
    writer.begin('{').key("name").value(path.model).key("ready").value(is_there);
    return {.status = is_there ? 200 : 503, .body = std::move(writer.end()).text()};
  }
  if (path.rest.empty() && reads) return metadata(state, path.model, find_version(state, path.model, path.version));
  throw http_error{404, "Not found: " + request.method + " " + request.path};
}

}  // namespace stagecraft::tool
