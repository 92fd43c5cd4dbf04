// SPDX-License-Identifier: BSD-3-Clause
// KServe's version 2, the Open Inference Protocol, with its extension of binary tensors.
#include "serve/api.hpp"
#include "serve/input_tensors.hpp"
#include "serve/json_reader.hpp"
#include "serve/tensor_json.hpp"

#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void fail_of_value(std::string const& key) {
  throw http_error{400, "'" + key + "' is not as it should be"};
}
std::string text_of(json_reader& reader, std::string const& key) {
  if (reader.next() != json_reader::kind::text) fail_of_value(key);
  return reader.read_text();
}
std::int64_t integer_of(json_reader& reader, std::string const& key) {
  std::int64_t value = 0;
  if (!reader.read_integer(value)) fail_of_value(key);
  return value;
}
bool boolean_of(json_reader& reader, std::string const& key) {
  if (reader.next() != json_reader::kind::boolean) fail_of_value(key);
  return reader.read_boolean();
}
/// Calls `each(key)` before the values of parameters.
template <class Each>
void read_parameters(json_reader& reader, Each const& each) {
  if (reader.next() != json_reader::kind::object) throw http_error{400, "'parameters' is no object"};
  reader.read_object(each);
}
/// Calls `each()` before the items of a list of objects.
template <class Each>
void read_objects(json_reader& reader, char const* what, char const* list, Each const& each) {
  if (reader.next() != json_reader::kind::list) throw http_error{400, "'" + std::string(list) + "' is no list"};
  (void)reader.read_list([&] {
    if (reader.next() != json_reader::kind::object) throw http_error{400, std::string(what) + " is no object"};
    each();
  });
}

/// An input of a request; its keys may come in any order.
struct given_input {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::int64_t binary_size = -1;
  bool has_shape = false;
  bool has_data = false;
  json_reader::place data{};  ///< the position of the numbers
  bool is_read = false;       ///< true: read with the present type and shape
  std::vector<float> values;
};

/// An output that is asked for.
struct wanted_output {
  std::string name;
  std::optional<bool> is_binary;
  std::int64_t classes = 0;  ///< Triton's classification: so many of the best; 0: the numbers
};
struct infer_request {
  std::string id;
  call_options options;
  bool has_inputs = false, has_outputs = false, all_binary = false;
  non_finite how = non_finite::literal;
  std::vector<given_input> inputs;
  std::vector<wanted_output> outputs;

  void read(std::string_view text, std::size_t most_inputs, std::size_t most_outputs) {
    json_reader::read_all(text, [&](json_reader& reader) { read(reader, most_inputs, most_outputs); });
    if (!has_inputs) throw http_error{400, expected_inputs};
  }

 private:
  static constexpr char const* expected_inputs = "expected an object with a list 'inputs'";

  void read(json_reader& reader, std::size_t most_inputs, std::size_t most_outputs) {
    if (reader.next() != json_reader::kind::object) throw http_error{400, expected_inputs};
    reader.read_object([&](std::string const& key) {
      if (key == "id") {
        id = text_of(reader, key);
      } else if (key == "parameters") {
        read_parameters(reader, [&](std::string const& name) {
          if (name == "binary_data_output")
            all_binary = boolean_of(reader, name);
          else if (name == "non_finite")
            how = non_finite_of(text_of(reader, name));
          else if (!read_option(reader, name))
            reader.skip();
        });
      } else if (key == "inputs") {
        if (reader.next() != json_reader::kind::list || has_inputs) throw http_error{400, expected_inputs};
        has_inputs = true;
        read_objects(reader, "an input", "inputs", [&] {
          if (inputs.size() == most_inputs) throw http_error{400, "there are more inputs than the model's"};
          read_input(reader, inputs.emplace_back());
        });
      } else if (key == "outputs") {
        if (std::exchange(has_outputs, true)) throw http_error{400, "'outputs' is given twice"};
        read_objects(reader, "an output", "outputs", [&] {
          if (outputs.size() == most_outputs) throw http_error{400, "more outputs are asked for than the model has"};
          read_output(reader, outputs.emplace_back());
        });
      } else {
        reader.skip();
      }
    });
  }

  /// Reads one of Triton's parameters of calls; false if it is none.
  bool read_option(json_reader& reader, std::string const& name) {
    if (name == "sequence_id") {
      auto& sequence = options.sequence;
      sequence.is_text = reader.next() == json_reader::kind::text;
      if (sequence.is_text) {
        sequence.id = reader.read_text();
      } else {
        auto const number = integer_of(reader, name);
        if (number < 0) fail_of_value(name);
        sequence.id = number == 0 ? "" : std::to_string(number);
      }
    } else if (name == "sequence_start") {
      options.sequence.starts = boolean_of(reader, name);
    } else if (name == "sequence_end") {
      options.sequence.ends = boolean_of(reader, name);
    } else if (name == "timeout") {
      auto const time = std::chrono::microseconds(integer_of(reader, name));
      if (time.count() < 0) fail_of_value(name);
      if (time.count() > 0 && (options.time.count() == 0 || time < options.time)) options.time = time;
    } else if (name == "priority") {
      auto const priority = integer_of(reader, name);
      if (priority < 0 || priority > most_priority) fail_of_value(name);
      options.priority = static_cast<int>(priority);
    } else {
      return false;
    }
    return true;
  }

  static void read_input(json_reader& reader, given_input& input) {
    reader.read_object([&](std::string const& key) {
      if (key == "name") {
        input.name = text_of(reader, key);
      } else if (key == "datatype") {
        input.is_read = false;
        input.type = text_of(reader, key);
      } else if (key == "shape") {
        input.is_read = false;
        input.has_shape = true;
        if (reader.next() != json_reader::kind::list) fail_of_value(key);
        input.shape.clear();
        (void)reader.read_list([&] {
          if (input.shape.size() == 32) fail_of_value(key);
          input.shape.push_back(integer_of(reader, key));
        });
      } else if (key == "parameters") {
        read_parameters(reader, [&](std::string const& name) {
          if (name == "binary_data_size")
            input.binary_size = integer_of(reader, name);
          else
            reader.skip();
        });
      } else if (key == "data") {
        input.has_data = true;
        input.data = reader.here();
        // Type and shape usually precede the numbers; otherwise these are read when both are known.
        if (!input.name.empty() && !input.type.empty() && input.has_shape)
          read_data(reader, input);
        else
          reader.skip();
      } else {
        reader.skip();
      }
    });
    if (!input.has_data || input.is_read) return;
    auto const end = reader.here();
    reader.go_to(input.data);
    read_data(reader, input);
    reader.go_to(end);
  }
  /// Reads numbers of the input's type and shape, from nested lists or from one list.
  static void read_data(json_reader& reader, given_input& input) {
    auto const of = "input '" + input.name + "'";
    auto const type = kserve_type(input.name, input.type);
    auto const size = element_count(input.name, input.shape);
    bool const is_nested = reader.is_list_of_lists();
    auto const shape = is_nested ? input.shape : std::vector<std::int64_t>{size};
    input.values.clear();
    input.is_read = reader.append_tensor(shape, type, input.values);
    if (input.is_read) return;
    auto const why = reader.why();
    if (why.is_number) throw http_error{400, of + ": the number of 'data' at " + why.place_text() + " " + why.what};
    reader.go_to(input.data);
    auto const found = reader.skip_shape();
    if (!is_nested && found.size() == 1 && found[0] != size)
      throw http_error{400, of + " has " + std::to_string(found[0]) + " numbers, expected " + std::to_string(size)};
    auto text = of + ": expected 'data' of shape " + io::shape_text(input.shape) + ", found ";
    if (found != shape)
      text += "something of shape " + io::shape_text(found);
    else
      text += why.what + (why.place.empty() ? "" : " at " + why.place_text());
    throw http_error{400, text};
  }
  static void read_output(json_reader& reader, wanted_output& output) {
    reader.read_object([&](std::string const& key) {
      if (key == "name")
        output.name = text_of(reader, key);
      else if (key == "parameters")
        read_parameters(reader, [&](std::string const& name) {
          if (name == "binary_data")
            output.is_binary = boolean_of(reader, name);
          else if (name == "classification")
            output.classes = integer_of(reader, name);
          else
            reader.skip();
        });
      else
        reader.skip();
    });
  }
};

/// The numbers of an input, as many as its shape has; binary ones are taken from the front of the remaining bytes.
std::vector<float> values_of(given_input& input, std::string_view& binary) {
  auto const& name = input.name;
  auto const type = kserve_type(name, input.type);
  auto const size = element_count(name, input.shape);
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
  request.read(std::string_view(http.body).substr(0, json_length), version.description().inputs.size(),
               version.description().outputs.size());
  if (path.version.number == 0) version = find_version(state, path.model, std::move(version), request.options.sequence);
  auto const& known = version.description();
  auto binary = std::string_view(http.body).substr(json_length);

  input_tensors inputs(known.inputs);
  for (auto& each : request.inputs) {
    auto values = values_of(each, binary);
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
  };
  std::vector<wanted_place> wanted;
  for (auto const& each : request.outputs) {
    auto const place = place_of_output(known.outputs, each.name);
    if (std::any_of(wanted.begin(), wanted.end(), [&](auto const& one) { return one.place == place; }))
      throw http_error{400, "output '" + each.name + "' is asked for twice"};
    if (each.classes < 0) throw http_error{400, "'classification' of output '" + each.name + "' is less than 0"};
    wanted.push_back({place, each.is_binary.value_or(request.all_binary), each.classes});
  }
  if (!request.has_outputs)
    for (std::size_t i = 0; i < known.outputs.size(); ++i) wanted.push_back({i, request.all_binary});

  auto const outputs = call_version(state, version, std::move(inputs.values), inputs.samples, *http.counted,
                                    request.options);
  std::string text = "{\"model_name\": ", bytes;
  write_text(path.model, text);
  text += ", \"model_version\": \"" + std::to_string(version.number) + "\"";
  if (!request.id.empty()) {
    text += ", \"id\": ";
    write_text(request.id, text);
  }
  text += ", \"outputs\": [";
  bool is_first = true;
  for (auto const& [place, is_binary, classes] : wanted) {
    auto const& spec = known.outputs[place];
    auto const& values = outputs[place];
    text += std::exchange(is_first, false) ? "{\"name\": " : ", {\"name\": ";
    write_text(spec.name, text);
    if (classes > 0) {
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
    if (is_binary) {
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
    writer.begin('{').key("name").value(spec.name).key("datatype").value("FP32").key("shape").begin('[').value(-1);
    for (auto const length : spec.shape) writer.value(length);
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
  write_tensors(writer.key("platform").value("stagecraft").key("inputs"), known.inputs);
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
    (void)find_version(state, path.model, path.version);
    writer.begin('{').key("name").value(path.model).key("ready").value(!state.is_stopping.load());
    return {.status = state.is_stopping ? 503 : 200, .body = std::move(writer.end()).text()};
  }
  if (path.rest.empty() && reads) return metadata(state, path.model, find_version(state, path.model, path.version));
  throw http_error{404, "Not found: " + request.method + " " + request.path};
}

}  // namespace stagecraft::tool
