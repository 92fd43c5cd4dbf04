// SPDX-License-Identifier: BSD-3-Clause
#include "serve/tensor_json.hpp"

#include "serve/api.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace stagecraft::tool {

namespace {

/// Puts NaN, Infinity and -Infinity in quotes, where they are in none.
std::string quote_special_numbers(std::string_view text) {
  std::string result;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (in_text) {
      result += c;
      if (c == '\\' && i + 1 < text.size())
        result += text[++i];
      else if (c == '"')
        in_text = false;
      continue;
    }
    if (c == '"') in_text = true;
    bool found = false;
    for (std::string_view const word : {"-Infinity", "Infinity", "NaN"})
      if (text.substr(i).starts_with(word)) {
        result += '"' + std::string(word) + '"';
        i += word.size() - 1;
        found = true;
        break;
      }
    if (!found) result += c;
  }
  return result;
}

bool append_number(io::json const& value, std::vector<float>& to) {
  if (value.is_number()) {
    to.push_back(value.get<float>());
  } else if (value.is_boolean()) {
    to.push_back(value.get<bool>() ? 1.0F : 0.0F);
  } else if (value.is_string()) {
    auto const& text = value.get_ref<std::string const&>();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (text != "NaN" && text != "Infinity" && text != "-Infinity") return false;
    to.push_back(text == "NaN" ? std::numeric_limits<float>::quiet_NaN() : text == "Infinity" ? infinity : -infinity);
  } else {
    return false;
  }
  return true;
}

bool append(io::json const& value, std::int64_t const* shape, std::size_t rank, std::vector<float>& to) {
  if (rank == 0) return append_number(value, to);
  if (!value.is_array() || static_cast<std::int64_t>(value.size()) != shape[0]) return false;
  for (auto const& item : value)
    if (!append(item, shape + 1, rank - 1, to)) return false;
  return true;
}

}  // namespace

io::json parse_request(std::string_view text) {
  // Objects of requests have the keys of inputs, and a key is looked for among all before it.
  constexpr int deepest = 32, most_keys = 1000;
  auto const parse = [](std::string_view json) {
    std::array<int, deepest + 2> keys{};
    return io::json::parse(json, [&](int depth, io::json::parse_event_t event, io::json&) {
      if (depth > deepest) throw http_error{400, "JSON Parse error: nested too deeply"};
      auto& count = keys[static_cast<std::size_t>(depth) + (event == io::json::parse_event_t::object_start ? 1 : 0)];
      if (event == io::json::parse_event_t::object_start) count = 0;
      if (event == io::json::parse_event_t::key && ++count > most_keys)
        throw http_error{400, "JSON Parse error: an object has more than " + std::to_string(most_keys) + " keys"};
      return true;
    });
  };
  try {
    bool const has_special =
        text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
    return has_special ? parse(quote_special_numbers(text)) : parse(text);
  } catch (io::json::exception const& why) {
    throw http_error{400, std::string("JSON Parse error: ") + why.what()};
  }
}

bool append_tensor(io::json const& value, std::vector<std::int64_t> const& shape, std::vector<float>& to) {
  return append(value, shape.data(), shape.size(), to);
}

std::vector<std::int64_t> shape_of_json(io::json const& value) {
  std::vector<std::int64_t> shape;
  for (auto const* at = &value; at->is_array(); at = &(*at)[0]) {
    shape.push_back(static_cast<std::int64_t>(at->size()));
    if (at->empty()) break;
  }
  return shape;
}

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
