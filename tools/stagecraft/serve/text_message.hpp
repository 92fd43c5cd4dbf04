// SPDX-License-Identifier: BSD-3-Clause
// Reads protobuf's text format, in which TensorFlow Serving's files of options are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

struct text_field;

/// A message: its fields, in their order.
struct text_message {
  std::vector<text_field> fields;

  /// Reads a file's text. `path` is named in errors. Throws file_error E5283: it is not in the text format, or messages
  /// are nested deeper than 16.
  [[nodiscard]] static text_message read(std::string_view text, std::string const& path);
};

/// A field: a value, or a message. A list `[1, 2]` is as many fields.
struct text_field {
  std::string name;
  std::string value;  ///< a text without its quotes, or a word: a number, true, the name of a constant
  bool is_message = false;
  text_message message;
  int line = 1;

  /// Throw file_error E5283 if the field has another type.
  [[nodiscard]] text_message const& as_message(std::string const& path) const;
  [[nodiscard]] std::string const& as_text(std::string const& path) const;
  [[nodiscard]] std::int64_t as_integer(std::string const& path) const;
  [[nodiscard]] bool as_boolean(std::string const& path) const;
  /// Throws file_error E5283: the server does not have this option.
  [[noreturn]] void refuse(std::string const& path, std::string const& why) const;
};

}  // namespace stagecraft::tool
