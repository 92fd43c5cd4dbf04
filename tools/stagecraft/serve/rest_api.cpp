// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's REST API:
// https://github.com/tensorflow/serving/blob/master/tensorflow_serving/g3doc/api_rest.md.
#include "serve/api.hpp"
#include "serve/tensor_json.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::tool {

namespace {

using io::json;

std::string shape_text(std::vector<std::int64_t> const& shape) {
  std::string text = "(";
  for (auto const length : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(length);
  return text + ")";
}

void append_input(serving::tensor_spec const& spec, json const& value, std::vector<std::int64_t> const& shape,
                  std::vector<float>& to) {
  if (!append_tensor(value, shape, to))
    throw http_error{400, "input '" + spec.name + "': expected numbers of shape " + shape_text(shape) +
                              ", found something of shape " + shape_text(shape_of_json(value))};
}

void check_names(json const& given, std::vector<serving::tensor_spec> const& inputs) {
  for (auto const& [name, value] : given.items())
    if (std::none_of(inputs.begin(), inputs.end(), [&, &key = name](auto const& input) { return input.name == key; }))
      throw http_error{400, "there is no input '" + name + "'"};
}
json const& input_named(json const& given, std::string const& name) {
  auto const found = given.find(name);
  if (found == given.end()) throw http_error{400, "input '" + name + "' is missing"};
  return *found;
}

http_response predict(server_state& state, served_version const& version, std::string const& body) {
  auto const request = parse_request(body);
  if (!request.is_object()) throw http_error{400, "Malformed request: expected a JSON object"};
  if (auto const name = request.find("signature_name");
      name != request.end() && *name != "serving_default" && *name != "")
    throw http_error{400, "Serving signature name: " + name->dump() + " not found in signature def"};
  bool const has_rows = request.contains("instances");
  if (has_rows == request.contains("inputs"))
    throw http_error{400, "Malformed request: expected either 'instances' or 'inputs'"};

  auto const& known = version.engine->description();
  auto const& specs = known.inputs;
  std::vector<std::vector<float>> inputs(specs.size());
  std::int64_t samples = 0;
  if (has_rows) {
    auto const& rows = request["instances"];
    if (!rows.is_array() || rows.empty()) throw http_error{400, "'instances' is no list, or an empty one"};
    samples = static_cast<std::int64_t>(rows.size());
    for (std::size_t i = 0; i < specs.size(); ++i)  // a number takes two characters at least
      inputs[i].reserve(std::min(static_cast<std::size_t>(specs[i].size()) * rows.size(), body.size() / 2));
    for (auto const& row : rows) {
      if (row.is_object()) check_names(row, specs);
      if (!row.is_object() && specs.size() != 1)
        throw http_error{400, "the model has " + std::to_string(specs.size()) +
                                  " inputs: each instance is an object with their names"};
      for (std::size_t i = 0; i < specs.size(); ++i)
        append_input(specs[i], row.is_object() ? input_named(row, specs[i].name) : row, specs[i].shape, inputs[i]);
    }
  } else {
    auto const& columns = request["inputs"];
    if (columns.is_object()) check_names(columns, specs);
    if (!columns.is_object() && specs.size() != 1)
      throw http_error{
          400, "the model has " + std::to_string(specs.size()) + " inputs: 'inputs' is an object with their names"};
    for (std::size_t i = 0; i < specs.size(); ++i) {
      auto const& column = columns.is_object() ? input_named(columns, specs[i].name) : columns;
      auto const count = column.is_array() ? static_cast<std::int64_t>(column.size()) : 0;
      if (count == 0) throw http_error{400, "input '" + specs[i].name + "' is no list, or an empty one"};
      if (i > 0 && count != samples)
        throw http_error{400, "input '" + specs[i].name + "' has " + std::to_string(count) +
                                  " samples, the ones before " + std::to_string(samples)};
      samples = count;
      auto shape = specs[i].shape;
      shape.insert(shape.begin(), count);
      append_input(specs[i], column, shape, inputs[i]);
    }
  }

  auto const outputs = call_version(state, version, std::move(inputs), samples);
  std::string text = has_rows ? "{\n    \"predictions\": [" : "{\n    \"outputs\": ";
  if (has_rows) {
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      if (sample > 0) text += ", ";
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs.size() > 1) {
          text += i == 0 ? "{" : ", ";
          write_text(known.outputs[i].name, text);
          text += ": ";
        }
        write_tensor(outputs[i].data() + sample * known.outputs[i].size(), known.outputs[i].shape, text);
      }
      if (outputs.size() > 1) text += "}";
    }
    text += "]\n}\n";
  } else {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs.size() > 1) {
        text += i == 0 ? "{" : ", ";
        write_text(known.outputs[i].name, text);
        text += ": ";
      }
      auto shape = known.outputs[i].shape;
      shape.insert(shape.begin(), samples);
      write_tensor(outputs[i].data(), shape, text);
    }
    text += outputs.size() > 1 ? "}\n}\n" : "\n}\n";
  }
  return {.body = std::move(text)};
}

http_response status(server_state const& state, model_path const& path) {
  auto const found = state.models.find(path.model);
  auto list = json::array();
  if (found != state.models.end()) {
    auto const states = found->second->states();
    for (auto each = states.rbegin(); each != states.rend(); ++each) {
      auto const& [number, of] = *each;
      if (path.version && *path.version != number) continue;
      auto entry = json::object();
      entry["version"] = std::to_string(number);
      entry["state"] = of.state;
      entry["status"]["error_code"] = of.error_message.empty() ? "OK" : "UNKNOWN";
      entry["status"]["error_message"] = of.error_message;
      list.push_back(std::move(entry));
    }
  }
  if (list.empty()) throw http_error{404, "Could not find any versions of model " + path.model};
  auto body = json::object();
  body["model_version_status"] = std::move(list);
  return {.body = body.dump(1, ' ', false, json::error_handler_t::replace) + "\n"};
}

json signature_of(std::vector<serving::tensor_spec> const& specs) {
  auto result = json::object();
  for (auto const& spec : specs) {
    auto dimensions = json::array({{{"size", "-1"}, {"name", ""}}});
    for (auto const length : spec.shape) dimensions.push_back({{"size", std::to_string(length)}, {"name", ""}});
    result[spec.name] = {{"dtype", "DT_FLOAT"},
                         {"tensor_shape", {{"dim", dimensions}, {"unknown_rank", false}}},
                         {"name", spec.name + ":0"}};
  }
  return result;
}

http_response metadata(std::string const& name, served_version const& version) {
  auto const& known = version.engine->description();
  json const signature{{"inputs", signature_of(known.inputs)},
                       {"outputs", signature_of(known.outputs)},
                       {"method_name", "tensorflow/serving/predict"}};
  json const body{{"model_spec", {{"name", name}, {"signature_name", ""}, {"version", std::to_string(version.number)}}},
                  {"metadata", {{"signature_def", {{"signature_def", {{"serving_default", signature}}}}}}}};
  return {.body = body.dump(1, ' ', false, json::error_handler_t::replace) + "\n"};
}

}  // namespace

http_response answer_rest(server_state& state, http_request const& request) {
  constexpr std::string_view begin = "/v1/models/";
  auto const path = parse_model_path(std::string_view(request.path).substr(begin.size()));
  bool const reads = request.method == "GET";
  if (path.rest.empty() && reads) return status(state, path);
  if (path.rest == "/metadata" && reads) return metadata(path.model, find_version(state, path.model, path.version));
  if (path.rest == ":predict" && !reads)
    return predict(state, find_version(state, path.model, path.version), request.body);
  if ((path.rest == ":classify" || path.rest == ":regress") && !reads)
    throw http_error{501, "applications have tensors, not examples: ask for :predict"};
  throw http_error{404, "Malformed request: " + request.method + " " + request.path};
}

}  // namespace stagecraft::tool
