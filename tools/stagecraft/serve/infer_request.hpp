// SPDX-License-Identifier: BSD-3-Clause
// A request of KServe's version 2 in JSON, read value by value.
#pragma once

#include "serve/input_tensors.hpp"
#include "serve/json_reader.hpp"
#include "serve/server_calls.hpp"
#include "serve/tensor_json.hpp"

#include <stagecraft/io/stored_tensor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

[[noreturn]] inline void fail_of_value(std::string const& key) {
  throw http_error{400, "'" + key + "' is not as it should be"};
}
[[nodiscard]] inline std::string text_of(json_reader& reader, std::string const& key) {
  if (reader.next() != json_reader::kind::text) fail_of_value(key);
  return reader.read_text();
}
[[nodiscard]] inline std::int64_t integer_of(json_reader& reader, std::string const& key) {
  std::int64_t value = 0;
  if (!reader.read_integer(value)) fail_of_value(key);
  return value;
}
[[nodiscard]] inline bool boolean_of(json_reader& reader, std::string const& key) {
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
  shared_part memory;  ///< the numbers are there; an empty name: they are not
  bool has_shape = false;
  bool has_data = false;
  json_reader::place data{};  ///< the position of the numbers
  bool is_read = false;       ///< true: read with the present type and shape
  std::vector<float> values;
  std::vector<std::string> texts;  ///< texts of an input of BYTES
};

/// An output that is asked for.
struct wanted_output {
  std::string name;
  std::optional<bool> is_binary;
  std::int64_t classes = 0;  ///< Triton's classification: so many of the best; 0: the numbers
  shared_part memory;        ///< where they are written; an empty name: into the answer
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

  /// Reads a parameter of shared memory; false if it is none.
  static bool read_memory(json_reader& reader, std::string const& name, shared_part& to) {
    if (name == "shared_memory_region") {
      to.region = text_of(reader, name);
    } else if (name == "shared_memory_offset" || name == "shared_memory_byte_size") {
      auto const number = integer_of(reader, name);
      if (number < 0) fail_of_value(name);
      (name == "shared_memory_offset" ? to.offset : to.size) = static_cast<std::uint64_t>(number);
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
          else if (!read_memory(reader, name, input.memory))
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
  /// Reads the texts of BYTES, from one list or from lists in it.
  static void read_texts(json_reader& reader, given_input& input) {
    input.texts.clear();
    auto const read = [&](auto const& self, int depth) -> void {
      if (depth < 2 && reader.next() == json_reader::kind::list)
        (void)reader.read_list([&] { self(self, depth + 1); });
      else if (depth > 0 && reader.next() == json_reader::kind::text)
        input.texts.push_back(reader.read_text());
      else
        throw http_error{400, "input '" + input.name + "': 'data' of BYTES is no list of texts"};
    };
    read(read, 0);
    input.is_read = true;
  }
  /// Reads numbers of the input's type and shape, from nested lists or from one list.
  static void read_data(json_reader& reader, given_input& input) {
    auto const of = "input '" + input.name + "'";
    if (input.type == "BYTES") return read_texts(reader, input);
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
          else if (!read_memory(reader, name, output.memory))
            reader.skip();
        });
      else
        reader.skip();
    });
  }
};

}  // namespace stagecraft::tool
