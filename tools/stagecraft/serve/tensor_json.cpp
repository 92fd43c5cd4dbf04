// SPDX-License-Identifier: BSD-3-Clause
#include "serve/tensor_json.hpp"

#include "serve/api.hpp"

#include <stagecraft/io/detail/option_json.hpp>
#include <charconv>
#include <cmath>
#include <utility>

namespace stagecraft::tool {

namespace {

void write_number(float value, non_finite how, std::string const& name, std::string& to) {
  if (std::isfinite(value)) {
    char text[64];
    auto const end = std::to_chars(text, text + sizeof text, value).ptr;
    to.append(text, end);
    // A float is written with a point, as in TensorFlow Serving.
    if (std::string_view(text, static_cast<std::size_t>(end - text)).find_first_of(".e") == std::string_view::npos)
      to += ".0";
    return;
  }
  std::string const word = std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
  switch (how) {
    case non_finite::literal: to += word; break;
    case non_finite::text: to += '"' + word + '"'; break;
    case non_finite::null: to += "null"; break;
    case non_finite::error: throw http_error{500, "output '" + name + "' holds " + word + ", which JSON does not have"};
  }
}

}  // namespace

non_finite non_finite_of(std::string const& name) {
  constexpr std::pair<std::string_view, non_finite> ways[]{{"literal", non_finite::literal},
                                                           {"text", non_finite::text},
                                                           {"null", non_finite::null},
                                                           {"error", non_finite::error}};
  for (auto const& [each, how] : ways)
    if (each == name) return how;
  throw http_error{400, "'non_finite' is \"" + name.substr(0, 80) + "\", expected literal, text, null or error"};
}

void write_tensor(float const* values, std::vector<std::int64_t> const& shape, non_finite how, std::string const& name,
                  std::string& to) {
  auto const write = [&](auto const& self, std::size_t axis) -> void {
    if (axis == shape.size()) return write_number(*values++, how, name, to);
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

void json_writer::separate() {
  if (!std::exchange(is_first_, false)) text_ += ", ";
}

json_writer& json_writer::append(std::string_view word) {
  separate();
  text_ += word;
  return *this;
}

json_writer& json_writer::begin(char bracket) {
  separate();
  text_ += bracket;
  open_ += bracket == '{' ? '}' : ']';
  is_first_ = true;
  return *this;
}

json_writer& json_writer::end() {
  text_ += open_.back();
  open_.pop_back();
  is_first_ = false;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  value(name);
  text_ += ": ";
  is_first_ = true;
  return *this;
}

json_writer& json_writer::value(std::string_view text) {
  separate();
  write_text(text, text_);
  return *this;
}

}  // namespace stagecraft::tool
