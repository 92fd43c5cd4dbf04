// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's REST API:
// https://github.com/tensorflow/serving/blob/master/tensorflow_serving/g3doc/api_rest.md.
#include "serve/api.hpp"
#include "serve/examples/example_inputs.hpp"
#include "serve/examples/examples_api.hpp"
#include "serve/examples/json_examples.hpp"
#include "serve/input_tensors.hpp"
#include "serve/json_reader.hpp"
#include "serve/tensor_json.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft::tool {

namespace {

std::string shape_text(std::vector<std::int64_t> const& shape) {
  std::string text = "(";
  for (auto const length : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(length);
  return text + ")";
}

/// Reads the samples of a request, by rows or by columns, as they come.
class predict_request {
 public:
  predict_request(served_version const& version, counted_bytes& counted, std::size_t most)
      : inputs(version.description().inputs.size()),
        specs_(version.description().inputs),
        signatures_(*version.signatures),
        counted_(counted),
        most_(most) {}

  std::vector<std::vector<float>> inputs;
  std::int64_t samples = 0;
  bool has_rows = false;
  non_finite how = non_finite::literal;  ///< their form in the answer

  void read(std::string const& body) {
    json_reader::read_all(body, [&](json_reader& reader) { read(body, reader); });
    if (!has_rows && !has_columns_) throw http_error{400, expected_one};
  }

 private:
  static constexpr char const* expected_one = "Malformed request: expected either 'instances' or 'inputs'";

  void read(std::string const& body, json_reader& reader) {
    if (reader.next() != json_reader::kind::object) throw http_error{400, "Malformed request: expected a JSON object"};
    reader.read_object([&](std::string const& key) {
      bool const are_rows = key == "instances";
      if (key == "signature_name") return check_signature(reader);
      if (key == "non_finite") {
        if (reader.next() != json_reader::kind::text) throw http_error{400, "'non_finite' is no text"};
        how = non_finite_of(reader.read_text());
        return;
      }
      if (!are_rows && key != "inputs") return reader.skip();
      if (has_rows || has_columns_) throw http_error{400, expected_one};
      (are_rows ? has_rows : has_columns_) = true;
      reserve(body);
      if (are_rows)
        read_rows(reader);
      else
        read_columns(reader);
    });
  }

  /// A signature of examples has been found before.
  void check_signature(json_reader& reader) const {
    if (auto const name = read_signature_name(reader); !signatures_.has(name))
      throw http_error{400, "Serving signature name: \"" + name + "\" not found in signature def"};
  }

  /// Reserves room for the most numbers that the text can have, one more than its commas, in proportion to the inputs'
  /// sizes.
  void reserve(std::string const& body) {
    auto const numbers = static_cast<double>(std::count(body.begin(), body.end(), ',') + 1);
    double all = 0;
    for (auto const& spec : specs_) all += static_cast<double>(spec.size());
    for (std::size_t i = 0; i < specs_.size(); ++i)
      inputs[i].reserve(static_cast<std::size_t>(numbers * static_cast<double>(specs_[i].size()) / std::max(all, 1.0)) +
                        1);
  }

  /// Reads a text, or bytes as TensorFlow Serving has them, {"b64": "..."}.
  void append_text(json_reader& reader, std::size_t input) {
    auto const& spec = specs_[input];
    std::optional<std::string> text;
    if (reader.next() == json_reader::kind::text) {
      text = reader.read_text();
    } else if (reader.next() == json_reader::kind::object) {
      reader.read_object([&](std::string const& key) {
        if (key != "b64" || text || reader.next() != json_reader::kind::text)
          throw http_error{400, "input '" + spec.name + "': expected {\"b64\": \"...\"}"};
        text = decode_base64(reader.read_text());
        if (!text) throw http_error{400, "input '" + spec.name + "': unable to base64 decode"};
      });
    }
    if (!text) throw http_error{400, "input '" + spec.name + "': expected a text, or {\"b64\": \"...\"}"};
    bytes_ += bytes_of_numbers(spec, 1, most_);
    if (bytes_ > most_)
      throw http_error{413, "input '" + spec.name + "' has more than " + std::to_string(most_) + " bytes of numbers"};
    if (!counted_.grow_to(bytes_, most_))
      throw http_error{503, "the requests that are there have as many bytes as they may have"};
    append_bytes(spec, *text, inputs[input]);
  }

  /// True if the next value, an object, has bytes, and is no object with the names of inputs.
  [[nodiscard]] bool is_base64(json_reader& reader) const {
    if (specs_.size() != 1 || !specs_[0].is_bytes || specs_[0].name == "b64") return false;
    auto const begin = reader.here();
    bool result = false;
    reader.read_object([&](std::string const& key) {
      result = result || key == "b64";
      reader.skip();
    });
    reader.go_to(begin);
    return result;
  }

  void append_sample(json_reader& reader, std::size_t input) {
    auto const begin = reader.here();
    auto const& spec = specs_[input];
    if (spec.is_bytes) return append_text(reader, input);
    if (reader.append_tensor(spec.shape, element_type::float32, inputs[input])) return;
    auto const why = reader.why();
    auto const of = "input '" + spec.name + "'";
    auto const sample =
        " of sample " +
        std::to_string(inputs[input].size() / static_cast<std::size_t>(std::max<std::int64_t>(spec.size(), 1)));
    if (why.is_number)
      throw http_error{
          400, of + sample + ": the number " + (spec.shape.empty() ? "" : "at " + why.place_text() + " ") + why.what};
    reader.go_to(begin);
    auto const found = reader.skip_shape();
    // That shape is found from first items alone, so it may equal the expected one.
    throw http_error{400, of + ": expected numbers of shape " + shape_text(spec.shape) + ", found " +
                              (found != spec.shape ? "something of shape " + shape_text(found)
                                                   : why.what + (why.place.empty() ? "" : " at " + why.place_text())) +
                              "," + sample};
  }

  /// Calls `read(input)` before each value of an object with the names of inputs.
  template <class Read>
  void read_named(json_reader& reader, Read const& read) {
    std::vector<bool> is_there(specs_.size());
    reader.read_object([&](std::string const& name) {
      auto const found =
          std::find_if(specs_.begin(), specs_.end(), [&](auto const& spec) { return spec.name == name; });
      if (found == specs_.end()) throw http_error{400, "there is no input '" + name + "'"};
      auto const input = static_cast<std::size_t>(found - specs_.begin());
      if (is_there[input]) throw http_error{400, "input '" + name + "' is given twice"};
      is_there[input] = true;
      read(input);
    });
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (!is_there[i]) throw http_error{400, "input '" + specs_[i].name + "' is missing"};
  }

  void read_rows(json_reader& reader) {
    if (reader.next() == json_reader::kind::list)
      samples = reader.read_list([&] {
        if (reader.next() == json_reader::kind::object && !is_base64(reader))
          return read_named(reader, [&](auto i) { append_sample(reader, i); });
        if (specs_.size() == 1) return append_sample(reader, 0);
        throw http_error{400, "the model has " + std::to_string(specs_.size()) +
                                  " inputs: each instance is an object with their names"};
      });
    if (samples == 0) throw http_error{400, "'instances' is no list, or an empty one"};
  }

  void read_columns(json_reader& reader) {
    if (reader.next() == json_reader::kind::object) return read_named(reader, [&](auto i) { read_column(reader, i); });
    if (specs_.size() != 1)
      throw http_error{
          400, "the model has " + std::to_string(specs_.size()) + " inputs: 'inputs' is an object with their names"};
    read_column(reader, 0);
  }

  void read_column(json_reader& reader, std::size_t input) {
    auto const& name = specs_[input].name;
    std::int64_t count = 0;
    if (reader.next() == json_reader::kind::list) count = reader.read_list([&] { append_sample(reader, input); });
    if (count == 0) throw http_error{400, "input '" + name + "' is no list, or an empty one"};
    if (samples > 0 && count != samples)
      throw http_error{400, "input '" + name + "' has " + std::to_string(count) + " samples, the ones before " +
                                std::to_string(samples)};
    samples = count;
  }

  std::vector<serving::tensor_spec> const& specs_;
  model_signatures const& signatures_;
  counted_bytes& counted_;
  std::size_t most_, bytes_ = 0;  ///< bytes_: of the numbers of texts
  bool has_columns_ = false;
};

http_response predict(server_state& state, served_version const& version, http_request& http) {
  if (auto answer = predict_examples(state, version, http)) return *std::move(answer);
  auto const& known = version.description();
  predict_request request(version, *http.counted, state.max_bytes_in_flight);
  request.read(http.body);
  std::string().swap(http.body);
  auto const samples = request.samples;
  bool const has_rows = request.has_rows;
  auto const outputs = call_version(state, version, std::move(request.inputs), samples, *http.counted,
                                    {.time = state.time, .sequence = {}, .parent = http.parent});
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
        write_tensor(outputs[i].data() + sample * known.outputs[i].size(), known.outputs[i].shape, request.how,
                     known.outputs[i].name, text);
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
      write_tensor(outputs[i].data(), shape, request.how, known.outputs[i].name, text);
    }
    text += outputs.size() > 1 ? "}\n}\n" : "\n}\n";
  }
  return {.body = std::move(text)};
}

http_response status(server_state const& state, model_path const& path) {
  auto const found = state.models.find(path.model);
  json_writer writer;
  writer.begin('{').key("model_version_status").begin('[');
  bool is_empty = true;
  if (found != nullptr) {
    auto const states = found->states();
    for (auto each = states.rbegin(); each != states.rend(); ++each) {
      auto const& [number, of] = *each;
      // A label chooses no version here, as in TensorFlow Serving.
      if (path.version.number != 0 && path.version.number != number) continue;
      is_empty = false;
      writer.begin('{').key("version").value(std::to_string(number)).key("state").value(of.state);
      writer.key("status").begin('{').key("error_code").value(of.error_message.empty() ? "OK" : "UNKNOWN");
      writer.key("error_message").value(of.error_message).end().end();
    }
  }
  if (is_empty) throw http_error{404, no_version_text(path.model, path.version.number)};
  return {.body = std::move(writer.end().end()).text()};
}

/// Writes inputs or outputs. A text is one element.
void write_specs(json_writer& writer, std::vector<serving::tensor_spec> const& specs) {
  auto const write_length = [&](std::int64_t length) {
    writer.begin('{').key("size").value(std::to_string(length)).key("name").value("").end();
  };
  writer.begin('{');
  for (auto const& spec : specs) {
    writer.key(spec.name)
        .begin('{')
        .key("dtype")
        .value(spec.is_bytes ? "DT_STRING" : "DT_FLOAT")
        .key("tensor_shape")
        .begin('{')
        .key("dim")
        .begin('[');
    write_length(-1);
    for (auto const length : spec.shape) write_length(length);
    writer.end().key("unknown_rank").value(false).end().key("name").value(spec.name + ":0").end();
  }
  writer.end();
}

http_response metadata(std::string const& name, served_version const& version) {
  auto const& known = version.description();
  json_writer writer;
  writer.begin('{').key("model_spec").begin('{').key("name").value(name).key("signature_name").value("");
  writer.key("version").value(std::to_string(version.number)).end();
  writer.key("metadata").begin('{').key("signature_def").begin('{').key("signature_def").begin('{');
  auto const write = [&](std::string_view of, std::vector<serving::tensor_spec> const& inputs,
                         std::vector<serving::tensor_spec> const& outputs, std::string_view method) {
    writer.key(of).begin('{').key("inputs");
    write_specs(writer, inputs);
    write_specs(writer.key("outputs"), outputs);
    writer.key("method_name").value(method).end();
  };
  write(version.signatures->of_tensors(), visible_inputs(known), known.outputs, "tensorflow/serving/predict");
  for (auto const& [key, signature] : version.signatures->of_examples())
    write(key, signature_inputs(), signature_outputs(signature, known), signature.method_name());
  writer.end().end().end();
  return {.body = std::move(writer.end()).text()};
}

}  // namespace

http_response answer_rest(server_state& state, http_request& request) {
  constexpr std::string_view begin = "/v1/models/";
  auto const path = parse_model_path(std::string_view(request.path).substr(begin.size()), true);
  bool const reads = request.method == "GET";
  if (path.rest.empty() && reads) return status(state, path);
  if (path.rest == "/metadata" && reads) return metadata(path.model, find_version(state, path.model, path.version));
  if (path.rest == ":predict" && !reads) return predict(state, find_version(state, path.model, path.version), request);
  if (bool const classifies = path.rest == ":classify"; (classifies || path.rest == ":regress") && !reads)
    return answer_examples(state, find_version(state, path.model, path.version), request, classifies);
  throw http_error{400, "Malformed request: " + request.method + " " + request.path};
}

}  // namespace stagecraft::tool
