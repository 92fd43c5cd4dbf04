// SPDX-License-Identifier: BSD-3-Clause
#include "serve/json_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

namespace stagecraft::tool {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that a word stands for, if it does.
bool special_number(std::string_view word, float& to) {
  if (word == "NaN")
    to = std::numeric_limits<float>::quiet_NaN();
  else if (word == "Infinity")
    to = infinity;
  else if (word == "-Infinity")
    to = -infinity;
  else
    return false;
  return true;
}

void append_utf8(unsigned code, std::string& to) {
  auto const add = [&](unsigned byte) { to += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

void json_reader::fail(std::string const& why) const {
  throw http_error{400, "JSON Parse error: " + why + " at byte " + std::to_string(at_)};
}
void json_reader::fail_of_keys() {
  throw http_error{400, "JSON Parse error: an object has more than " + std::to_string(most_keys) + " keys"};
}

void json_reader::skip_space() noexcept {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
}

void json_reader::expect(char what) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != what) fail(std::string("expected '") + what + "'");
  ++at_;
}

bool json_reader::takes(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void json_reader::begin(char bracket) {
  expect(bracket);
  if (++depth_ > deepest) throw http_error{400, "JSON Parse error: nested too deeply"};
}

bool json_reader::ends(char bracket, bool is_first) {
  skip_space();
  if (at_ < text_.size() && text_[at_] == bracket) {
    ++at_;
    return true;
  }
  if (!is_first) expect(',');
  return false;
}

json_reader::kind json_reader::next() {
  skip_space();
  if (at_ == text_.size()) fail("the text ends");
  switch (text_[at_]) {
    case '{': return kind::object;
    case '[': return kind::list;
    case '"': return kind::text;
    case 't':
    case 'f': return kind::boolean;
    case 'n': return kind::null;
    default: return kind::number;
  }
}

unsigned json_reader::read_four_digits() {
  unsigned code = 0;
  if (text_.size() - at_ < 4) fail("a text does not end");
  auto const* const begin = text_.data() + at_;
  if (auto const [last, problem] = std::from_chars(begin, begin + 4, code, 16);
      problem != std::errc() || last != begin + 4)
    fail("expected four hexadecimal digits");
  at_ += 4;
  return code;
}

void json_reader::append_character(std::string& to) {
  if (at_ == text_.size()) fail("a text does not end");
  constexpr std::string_view names = "\"\\/bfnrt", characters = "\"\\/\b\f\n\r\t";
  char const name = text_[at_++];
  if (auto const found = names.find(name); found != std::string_view::npos) {
    to += characters[found];
    return;
  }
  if (name != 'u') fail("a text has a '\\' too many");
  auto code = read_four_digits();
  if (code >= 0xD800 && code < 0xDC00 && takes("\\u")) {
    auto const low = read_four_digits();
    if (low < 0xDC00 || low >= 0xE000) fail("half a character");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code < 0xE000) {
    fail("half a character");
  }
  append_utf8(code, to);
}

std::string json_reader::read_text() {
  expect('"');
  std::string result;
  for (;;) {
    auto const begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 32)
      ++at_;
    result.append(text_.substr(begin, at_ - begin));
    if (at_ == text_.size()) fail("a text does not end");
    char const c = text_[at_];
    if (c != '"' && c != '\\') fail("a text has a control character");
    ++at_;
    if (c == '"') return result;
    append_character(result);
  }
}

bool json_reader::read_boolean() {
  skip_space();
  if (takes("true")) return true;
  if (takes("false")) return false;
  fail("expected true or false");
}

std::size_t json_reader::end_of_number() const {
  auto const digits = [&](std::size_t from) {
    auto to = from;
    while (to < text_.size() && is_digit(text_[to])) ++to;
    if (to == from) fail("expected a value");
    return to;
  };
  auto end = at_ + (at_ < text_.size() && text_[at_] == '-' ? 1 : 0);
  bool const is_zero = end < text_.size() && text_[end] == '0';
  end = is_zero ? end + 1 : digits(end);
  if (end < text_.size() && text_[end] == '.') end = digits(end + 1);
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
    end = digits(end);
  }
  return end;
}

bool json_reader::read_integer(std::int64_t& to) {
  if (next() != kind::number) return false;
  auto const end = end_of_number();
  auto const [last, problem] = std::from_chars(text_.data() + at_, text_.data() + end, to);
  if (problem != std::errc() || last != text_.data() + end) return false;
  at_ = end;
  return true;
}

bool json_reader::append_number(std::vector<float>& to) {
  float value = 0;
  switch (next()) {
    case kind::number:
      for (std::string_view const word : {"-Infinity", "Infinity", "NaN"})
        if (takes(word)) {
          (void)special_number(word, value);
          to.push_back(value);
          return true;
        }
      {
        auto const end = end_of_number();
        auto const* const first = text_.data() + at_;
        if (std::from_chars(first, text_.data() + end, value).ec == std::errc::result_out_of_range) {
          // Too large for a float, or too small: as a double it is one of both, rounded.
          double const wide = std::strtod(std::string(first, text_.data() + end).c_str(), nullptr);
          if (std::isinf(wide)) fail("a number is out of range");
          value = static_cast<float>(wide);
        }
        at_ = end;
      }
      break;
    case kind::boolean: value = read_boolean() ? 1.0F : 0.0F; break;
    case kind::text:
      if (!special_number(read_text(), value)) return false;
      break;
    default: return false;
  }
  to.push_back(value);
  return true;
}

bool json_reader::append_tensor(std::int64_t const* shape, std::size_t rank, std::vector<float>& to) {
  if (rank == 0) return append_number(to);
  if (next() != kind::list) return false;
  begin('[');
  std::int64_t count = 0;
  for (; !ends(']', count == 0); ++count)
    if (count == *shape || !append_tensor(shape + 1, rank - 1, to)) return false;
  --depth_;
  return count == *shape;
}
bool json_reader::append_tensor(std::vector<std::int64_t> const& shape, std::vector<float>& to) {
  return append_tensor(shape.data(), shape.size(), to);
}

bool json_reader::append_all(std::vector<float>& to) {
  if (next() != kind::list) return append_number(to);
  begin('[');
  for (bool is_first = true; !ends(']', is_first); is_first = false)
    if (!append_all(to)) return false;
  --depth_;
  return true;
}

void json_reader::skip() {
  std::vector<float> none;
  switch (next()) {
    case kind::object: read_object([&](auto const&) { skip(); }); break;
    case kind::list: (void)read_list([&] { skip(); }); break;
    case kind::text: (void)read_text(); break;
    case kind::number: (void)append_number(none); break;
    case kind::boolean: (void)read_boolean(); break;
    case kind::null:
      if (!takes("null")) fail("expected a value");
      break;
  }
}

void json_reader::skip_shape(std::size_t level, std::vector<std::int64_t>& shape) {
  if (next() != kind::list) return skip();
  shape.push_back(0);
  auto const count = read_list([&, is_first = true]() mutable {
    if (is_first)
      skip_shape(level + 1, shape);
    else
      skip();
    is_first = false;
  });
  shape[level] = count;
}
std::vector<std::int64_t> json_reader::skip_shape() {
  std::vector<std::int64_t> shape;
  skip_shape(0, shape);
  return shape;
}

void json_reader::end() {
  skip_space();
  if (at_ < text_.size()) fail("expected the end");
}

}  // namespace stagecraft::tool
