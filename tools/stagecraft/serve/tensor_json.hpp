// SPDX-License-Identifier: BSD-3-Clause
// Tensors in JSON, as lists in lists.
#pragma once

#include <stagecraft/io/detail/option_json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// JSON with NaN, Infinity and -Infinity, which become texts. Throws http_error 400.
[[nodiscard]] io::json parse_request(std::string_view text);

/// The numbers of a value, which has this shape: texts that stand for numbers, booleans too. False: another shape, or
/// something else than numbers.
[[nodiscard]] bool append_tensor(io::json const& value, std::vector<std::int64_t> const& shape, std::vector<float>& to);

/// Its shape, as far as first elements say.
[[nodiscard]] std::vector<std::int64_t> shape_of_json(io::json const& value);

/// Appends numbers of a shape, which begin at `values`, as lists in lists.
void write_tensor(float const* values, std::vector<std::int64_t> const& shape, std::string& to);
void write_number(float value, std::string& to);
/// A text in quotes.
void write_text(std::string_view text, std::string& to);

}  // namespace stagecraft::tool
