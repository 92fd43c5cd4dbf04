// SPDX-License-Identifier: BSD-3-Clause
// Requests with examples as TensorFlow Serving's REST has them in JSON.
#pragma once

#include "serve/examples/example_inputs.hpp"
#include "serve/json_reader.hpp"
#include "serve/tensor_json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// A JSON object of TensorFlow Serving's, whose keys may come in any order: where what it has begins.
struct request_keys {
  std::string signature;  ///< empty: none is named
  non_finite how = non_finite::literal;
  std::optional<json_reader::place> context, examples, instances, inputs;

  /// Throws http_error 400 for a key twice, and for what is no request.
  void read(json_reader& reader);
};

/// Reads the signature that a request names, "" for none. Throws http_error 400 if that is no text.
[[nodiscard]] std::string read_signature_name(json_reader& reader);

/// Reads "examples", each with "context". Throws http_error 400, with TensorFlow Serving's words.
void read_examples(json_reader& reader, request_keys const& keys, example_inputs& to);
/// Reads the serialized examples of a predict request, in texts or as {"b64": "..."}: "instances" or "inputs", with or
/// without the name "inputs". Returns true for instances.
[[nodiscard]] bool read_serialized_examples(json_reader& reader, request_keys const& keys, example_inputs& to);

}  // namespace stagecraft::tool
