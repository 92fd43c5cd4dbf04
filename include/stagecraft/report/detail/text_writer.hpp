// SPDX-License-Identifier: BSD-3-Clause
// Text of pictures and traces while it is written: numbers that no locale changes, characters that XML and JSON give a
// meaning of their own.
#pragma once

#include <stagecraft/diagnostics/shown_text.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::reports {

using diagnostics::character_length;

/// What stands for bytes that are no character: U+FFFD.
inline constexpr std::string_view no_character = "\xef\xbf\xbd";

/// A text that grows.
class text_writer {
 public:
  text_writer& operator<<(std::string_view text) {
    text_.append(text);
    return *this;
  }
  text_writer& operator<<(char const* text) { return *this << std::string_view(text); }
  text_writer& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }
  text_writer& operator<<(long long number) {
    text_ += std::to_string(number);
    return *this;
  }
  text_writer& operator<<(int number) { return *this << static_cast<long long>(number); }
  /// With at most one digit behind the point: coordinates need no more.
  text_writer& operator<<(double number) {
    auto const tenths = static_cast<long long>(number * 10 + (number < 0 ? -0.5 : 0.5));
    if (tenths < 0) *this << '-';
    auto const magnitude = tenths < 0 ? -tenths : tenths;
    *this << magnitude / 10;
    if (magnitude % 10 != 0) *this << '.' << magnitude % 10;
    return *this;
  }

  /// As the text of an XML element, or between double quotes as the value of an attribute.
  text_writer& xml(std::string_view text) {
    while (!text.empty()) {
      std::size_t const length = character_length(text);
      if (length != 1)
        *this << (length == 0 ? no_character : text.substr(0, length));
      else
        switch (char const c = text[0]) {
          case '&': *this << "&amp;"; break;
          case '<': *this << "&lt;"; break;
          case '>': *this << "&gt;"; break;
          case '"': *this << "&quot;"; break;
          default:
            if (is_control(c))
              *this << no_character;
            else
              *this << c;
        }
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return *this;
  }

  /// Between double quotes, as JSON and DOT have them.
  text_writer& quoted(std::string_view text) {
    *this << '"';
    while (!text.empty()) {
      std::size_t const length = character_length(text);
      if (length != 1 || is_control(text[0])) {
        *this << (length < 2 ? no_character : text.substr(0, length));
      } else {
        if (text[0] == '"' || text[0] == '\\') *this << '\\';
        *this << text[0];
      }
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return *this << '"';
  }

  [[nodiscard]] std::string_view view() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

  std::string text_;
};

}  // namespace stagecraft::reports
