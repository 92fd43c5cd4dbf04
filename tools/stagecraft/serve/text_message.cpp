// SPDX-License-Identifier: BSD-3-Clause
#include "serve/text_message.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void fail(std::string const& path, int line, std::string const& why) {
  throw file_error("E5283", path + ", line " + std::to_string(line) + ": " + why);
}

class reader {
 public:
  reader(std::string_view text, std::string const& path) : text_(text), path_(path) {}

  text_message read_file() {
    auto result = read_message('\0', 0);
    return result;
  }

 private:
  static constexpr int deepest = 16;

  [[noreturn]] void fail(std::string const& why) const { tool::fail(path_, line_, why); }

  /// The next character after spaces and comments; 0 at the end.
  char next() {
    for (; at_ < text_.size(); ++at_) {
      char const c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) break;
      if (text_[at_] == '\n') ++line_;
      if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos) return text_[at_];
    }
    return '\0';
  }
  bool takes(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  std::string read_word() {
    (void)next();
    auto const begin = at_;
    auto const is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             c == '-' || c == '+';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    if (at_ == begin)
      fail(at_ == text_.size() ? "the text ends" : std::string("expected a word, found '") + text_[at_] + "'");
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// Texts that follow each other are one.
  std::string read_text() {
    std::string result;
    for (char quote = next(); quote == '"' || quote == '\''; quote = next()) {
      for (++at_;; ++at_) {
        if (at_ >= text_.size() || text_[at_] == '\n') fail("a text does not end");
        if (text_[at_] == quote) break;
        if (text_[at_] == '\\') {
          constexpr std::string_view names = "\\\"'nrt", characters = "\\\"'\n\r\t";
          auto const found = ++at_ < text_.size() ? names.find(text_[at_]) : std::string_view::npos;
          if (found == std::string_view::npos) fail("a text has a '\\' that is not taken");
          result += characters[found];
        } else {
          result += text_[at_];
        }
      }
      ++at_;
    }
    return result;
  }

  text_field read_value(std::string const& name, int depth) {
    text_field result{.name = name, .value = {}, .message = {}, .line = line_};
    char const begin = next();
    if (begin == '{' || begin == '<') {
      ++at_;
      result.is_message = true;
      result.message = read_message(begin == '{' ? '}' : '>', depth + 1);
    } else {
      result.value = begin == '"' || begin == '\'' ? read_text() : read_word();
    }
    return result;
  }

  text_message read_message(char end, int depth) {
    if (depth > deepest) fail("messages are nested too deeply");
    text_message result;
    for (;;) {
      char const begin = next();
      if (begin == end) {
        if (end != '\0') ++at_;
        return result;
      }
      if (begin == '\0') fail("a message does not end");
      auto const name = read_word();
      bool const has_colon = takes(':');
      char const value = next();
      auto const check_colon = [&](char begins) {  // only messages may do without it, also those in a list
        if (!has_colon && begins != '{' && begins != '<') fail("expected ':' after '" + name + "'");
      };
      if (value != '[') check_colon(value);
      if (takes('[')) {
        for (bool is_first = true; !takes(']'); is_first = false) {
          if (!is_first && !takes(',')) fail("expected ',' or ']'");
          check_colon(next());
          result.fields.push_back(read_value(name, depth));
        }
      } else {
        result.fields.push_back(read_value(name, depth));
      }
      if (!takes(',')) (void)takes(';');
    }
  }

  std::string_view text_;
  std::string const& path_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

text_message text_message::read(std::string_view text, std::string const& path) {
  return reader(text, path).read_file();
}

text_message const& text_field::as_message(std::string const& path) const {
  if (!is_message) fail(path, line, "'" + name + "' is no message in braces");
  return message;
}
std::string const& text_field::as_text(std::string const& path) const {
  if (is_message) fail(path, line, "'" + name + "' is a message, expected a value");
  return value;
}
std::int64_t text_field::as_integer(std::string const& path) const {
  auto const& text = as_text(path);
  std::int64_t number = 0;
  auto const* const end = text.data() + text.size();
  auto const [last, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || last != end)
    fail(path, line, "'" + name + "' is '" + text + "', expected a whole number");
  return number;
}
bool text_field::as_boolean(std::string const& path) const {
  auto const& text = as_text(path);
  if (text != "true" && text != "false") fail(path, line, "'" + name + "' is '" + text + "', expected true or false");
  return text == "true";
}
void text_field::refuse(std::string const& path, std::string const& why) const {
  fail(path, line, "'" + name + "' " + why);
}

}  // namespace stagecraft::tool
