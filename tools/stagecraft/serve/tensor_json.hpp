// SPDX-License-Identifier: BSD-3-Clause
// Writes answers as JSON: tensors as nested lists, and small objects. It makes no tree of values, since the destructor
// of nlohmann's allocates, and the program would end where memory lacks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// Spellings of NaN and infinities, which JSON does not have.
enum class non_finite : unsigned char {
  literal,  ///< NaN, Infinity and -Infinity, as TensorFlow Serving and Python write them
  text,     ///< "NaN", "Infinity" and "-Infinity", which requests may have, too
  null,     ///< null
  error     ///< they are none of an answer: write_tensor throws http_error 500
};
/// The spelling with this name: "literal", "text", "null" or "error". Throws http_error 400 for any other.
[[nodiscard]] non_finite non_finite_of(std::string const& name);

/// Appends the numbers from `values` on as nested lists of this shape. `name` is named in errors.
void write_tensor(float const* values, std::vector<std::int64_t> const& shape, non_finite how, std::string const& name,
                  std::string& to);
/// Appends a text in quotes.
void write_text(std::string_view text, std::string& to);

/// Writes objects and lists in order: `writer.begin('{').key("ready").value(true).end().text()`.
class json_writer {
 public:
  /// Begins an object, '{', or a list, '['.
  json_writer& begin(char bracket);
  /// Ends the innermost object or list.
  json_writer& end();
  /// Names the next value, of an object.
  json_writer& key(std::string_view name);
  json_writer& value(std::string_view text);
  json_writer& value(char const* text) { return value(std::string_view(text)); }
  json_writer& value(std::same_as<bool> auto truth) { return append(truth ? "true" : "false"); }
  json_writer& value(std::int64_t number) { return append(std::to_string(number)); }
  /// Returns the text, with a newline.
  [[nodiscard]] std::string text() && { return std::move(text_ += '\n'); }

 private:
  json_writer& append(std::string_view word);
  void separate();

  std::string text_, open_;  ///< open_: the closing brackets of what has begun
  bool is_first_ = true;     ///< the next value is its object's or list's first, or follows a key
};

}  // namespace stagecraft::tool
