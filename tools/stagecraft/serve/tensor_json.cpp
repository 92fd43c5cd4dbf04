// SPDX-License-Identifier: BSD-3-Clause
#include "serve/tensor_json.hpp"

#include <stagecraft/io/detail/option_json.hpp>
#include <charconv>
#include <cmath>

namespace stagecraft::tool {

void write_number(float value, std::string& to) {
  if (std::isnan(value)) {
    to += "NaN";
  } else if (std::isinf(value)) {
    to += value < 0 ? "-Infinity" : "Infinity";
  } else {
    char text[64];
    auto const end = std::to_chars(text, text + sizeof text, value).ptr;
    to.append(text, end);
    // A float in JSON, as TensorFlow Serving writes it.
    if (std::string_view(text, static_cast<std::size_t>(end - text)).find_first_of(".e") == std::string_view::npos)
      to += ".0";
  }
}

void write_tensor(float const* values, std::vector<std::int64_t> const& shape, std::string& to) {
  auto const write = [&](auto const& self, std::size_t axis) -> void {
    if (axis == shape.size()) return write_number(*values++, to);
    to += '[';
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      if (i > 0) to += ", ";
      self(self, axis + 1);
    }
    to += ']';
  };
  write(write, 0);
}

void write_text(std::string_view text, std::string& to) {
  to += io::json(std::string(text)).dump(-1, ' ', false, io::json::error_handler_t::replace);
}

}  // namespace stagecraft::tool
