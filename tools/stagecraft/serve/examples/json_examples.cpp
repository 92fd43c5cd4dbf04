// SPDX-License-Identifier: BSD-3-Clause
#include "serve/examples/json_examples.hpp"

#include "serve/http/http_message.hpp"
#include "serve/input_tensors.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

constexpr char const* expected_one = "Malformed request: expected either 'instances' or 'inputs'";

char const* name_of(json_reader::kind kind) {
  using enum json_reader::kind;
  switch (kind) {
    case object: return "Object";
    case list: return "Array";
    case text: return "String";
    case number: return "Number";
    case boolean: return "Boolean";
    case null: return "Null";
  }
  return "";
}

/// Reads {"b64": "..."}; none if the object has other keys.
std::optional<std::string> read_base64(json_reader& reader, std::string const& of) {
  std::optional<std::string> encoded;
  bool is_one = true;
  reader.read_object([&](std::string const& key) {
    is_one = is_one && key == "b64" && !encoded && reader.next() == json_reader::kind::text;
    if (is_one)
      encoded = reader.read_text();
    else
      reader.skip();
  });
  if (!is_one || !encoded) return std::nullopt;
  auto decoded = decode_base64(*encoded);
  if (!decoded) throw http_error{400, of + ": unable to base64 decode"};
  return decoded;
}

/// Reads the values of one feature.
class feature_reader {
 public:
  feature_reader(json_reader& reader, std::string const& name, feature_value& to, std::size_t room)
      : reader_(reader), name_(name), to_(to), room_(room) {}

  void read() {
    if (reader_.next() != json_reader::kind::list) return read_value();
    (void)reader_.read_list([&] { read_value(); });
  }

 private:
  [[noreturn]] void refuse_type() {
    throw http_error{400, "Feature: " + name_ + " has element with unexpected JSON type: " + name_of(reader_.next())};
  }
  void begin(bound_feature::kind kind) {
    static constexpr char const* names[]{"float", "int64", "bytes"};
    if (to_.is_there && to_.kind != kind)
      throw http_error{400, "Unexpected element type in feature: " + name_ +
                                " expecting type: " + names[static_cast<std::size_t>(to_.kind)]};
    to_.begin(kind);
  }
  void read_value() {
    using enum bound_feature::kind;
    switch (reader_.next()) {
      case json_reader::kind::text: begin(bytes); return to_.add(reader_.read_text(), room_);
      case json_reader::kind::boolean: begin(integers); return to_.add(reader_.read_boolean() ? 1.0F : 0.0F, room_);
      case json_reader::kind::number: return read_number();
      case json_reader::kind::object: {
        auto const text = read_base64(reader_, "Feature: " + name_);
        if (!text) throw http_error{400, "Feature: " + name_ + " has element with unexpected JSON type: Object"};
        begin(bytes);
        return to_.add(*text, room_);
      }
      default: refuse_type();
    }
  }
  void read_number() {
    using enum bound_feature::kind;
    if (reader_.is_whole_number()) {
      begin(integers);
      std::int64_t value = 0;
      if (!reader_.read_integer(value))
        throw http_error{400, "Feature: " + name_ + " has uint64 element. Only int64 is supported."};
      return to_.add(static_cast<float>(value), room_);
    }
    begin(floats);
    std::vector<float> value;
    if (!reader_.append_tensor({}, element_type::float32, value))
      throw http_error{400, "Feature: " + name_ + " has an element that " + reader_.why().what};
    to_.add(value[0], room_);
  }

  json_reader& reader_;
  std::string const& name_;
  feature_value& to_;
  std::size_t room_;
};

/// Reads one example, or the context.
void read_example(json_reader& reader, example_inputs& to) {
  if (reader.next() != json_reader::kind::object)
    throw http_error{400, std::string("Example must be JSON object but got JSON ") + name_of(reader.next())};
  to.begin();
  reader.read_object([&](std::string const& name) {
    feature_value unknown;
    auto* const value = to.find(name);
    if (value != nullptr) value->clear();
    feature_reader(reader, name, value == nullptr ? unknown : *value, to.room(value)).read();
  });
}

}  // namespace

void request_keys::read(json_reader& reader) {
  if (reader.next() != json_reader::kind::object) throw http_error{400, "Malformed request: expected a JSON object"};
  reader.read_object([&](std::string const& key) {
    if (key == "signature_name") {
      signature = read_signature_name(reader);
      return;
    }
    if (key == "non_finite") {
      if (reader.next() != json_reader::kind::text) throw http_error{400, "'non_finite' is no text"};
      how = non_finite_of(reader.read_text());
      return;
    }
    for (auto const& [name, place] : {std::pair("context", &context), std::pair("examples", &examples),
                                      std::pair("instances", &instances), std::pair("inputs", &inputs)}) {
      if (key != name) continue;
      if (*place) throw http_error{400, "'" + key + "' is given twice"};
      *place = reader.here();
    }
    reader.skip();
  });
}

std::string read_signature_name(json_reader& reader) {
  if (reader.next() == json_reader::kind::null) {
    reader.skip();
    return "";
  }
  if (reader.next() != json_reader::kind::text) throw http_error{400, "'signature_name' key must be a string value."};
  return reader.read_text();
}

void read_examples(json_reader& reader, request_keys const& keys, example_inputs& to) {
  auto const end = reader.here();
  if (keys.context) {
    reader.go_to(*keys.context);
    read_example(reader, to);
    to.end_context();
  }
  if (!keys.examples) throw http_error{400, "When method is classify, key 'examples' is expected and was not found"};
  reader.go_to(*keys.examples);
  if (reader.next() != json_reader::kind::list) throw http_error{400, "Expecting 'examples' value to be an list/array"};
  auto const count = reader.read_list([&] {
    read_example(reader, to);
    to.end();
  });
  if (count == 0) throw http_error{400, "'examples' value is an empty array"};
  reader.go_to(end);
}

bool read_serialized_examples(json_reader& reader, request_keys const& keys, example_inputs& to) {
  if (keys.instances.has_value() == keys.inputs.has_value()) throw http_error{400, expected_one};
  bool const has_rows = keys.instances.has_value();
  auto const end = reader.here();
  constexpr char const* expected = "input 'inputs': expected a serialized example in a text, or {\"b64\": \"...\"}";
  auto const read_one = [&](auto const& self, bool may_be_named) -> void {
    if (reader.next() == json_reader::kind::text) return to.read(reader.read_text());
    if (reader.next() != json_reader::kind::object) throw http_error{400, expected};
    auto const begin = reader.here();
    if (auto const text = read_base64(reader, "input 'inputs'")) return to.read(*text);
    if (!may_be_named) throw http_error{400, expected};
    reader.go_to(begin);
    bool is_there = false;
    reader.read_object([&](std::string const& name) {
      if (name != "inputs") throw http_error{400, "there is no input '" + name + "'"};
      if (std::exchange(is_there, true)) throw http_error{400, "input 'inputs' is given twice"};
      self(self, false);
    });
    if (!is_there) throw http_error{400, "input 'inputs' is missing"};
  };
  auto const read_all = [&](bool may_be_named) {
    auto const name = std::string(has_rows ? "'instances'" : "input 'inputs'");
    if (reader.next() != json_reader::kind::list || reader.read_list([&] { read_one(read_one, may_be_named); }) == 0)
      throw http_error{400, name + " is no list, or an empty one"};
  };
  reader.go_to(has_rows ? *keys.instances : *keys.inputs);
  if (has_rows || reader.next() != json_reader::kind::object) {
    read_all(has_rows);
  } else {
    reader.read_object([&](std::string const& name) {
      if (name != "inputs") throw http_error{400, "there is no input '" + name + "'"};
      if (to.samples > 0) throw http_error{400, "input 'inputs' is given twice"};
      read_all(false);
    });
    if (to.samples == 0) throw http_error{400, "input 'inputs' is missing"};
  }
  reader.go_to(end);
  return has_rows;
}

}  // namespace stagecraft::tool
