// SPDX-License-Identifier: BSD-3-Clause
// Writes tensors as JSON: nested lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace stagecraft::tool
