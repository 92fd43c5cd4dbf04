// SPDX-License-Identifier: BSD-3-Clause
// Texts of files, clients and systems as messages and terminals may have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::diagnostics {

/// The number of bytes of the UTF-8 character that a text begins with; 0 if it begins with none.
[[nodiscard]] constexpr std::size_t character_length(std::string_view text) noexcept {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  unsigned const second = byte(1);  // no character is written in more bytes than it needs, and there are no surrogates
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

/// True if a character is shown as itself: it is no control character, and does not turn the direction of text.
[[nodiscard]] constexpr bool is_visible(std::string_view character) noexcept {
  if (character.size() == 1)
    return (character[0] >= ' ' && character[0] != '\x7f') || character[0] == '\n' || character[0] == '\t';
  if (character.size() == 2) return character[0] != '\xc2' || static_cast<unsigned char>(character[1]) >= 0xa0;
  if (character.size() != 3 || character[0] != '\xe2') return true;
  auto const last = static_cast<unsigned char>(character[2]);
  if (character[1] == '\x80') return !(last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae));
  return character[1] != '\x81' || last < 0xa6 || last > 0xa9;
}

/// Appends a character as "\x1b", or each byte of it.
inline void append_shown_bytes(std::string& to, std::string_view character) {
  constexpr char const* digits = "0123456789abcdef";
  for (char const c : character) {
    auto const byte = static_cast<unsigned char>(c);
    to.append("\\x").push_back(digits[byte >> 4]);
    to.push_back(digits[byte & 15]);
  }
}

/// Appends a line; of a longer one, the middle is left out.
inline void append_cut_line(std::string& to, std::string_view line, std::size_t longest) {
  if (line.size() <= longest) {
    to.append(line);
    return;
  }
  auto head = longest / 2, tail = line.size() - longest / 2;
  while (head > 0 && (line[head] & 0xc0) == 0x80) --head;  // no character is cut
  while (tail < line.size() && (line[tail] & 0xc0) == 0x80) ++tail;
  to.append(line.substr(0, head)).append("... (").append(std::to_string(tail - head)).append(" bytes) ...");
  to.append(line.substr(tail));
}

/// A text with each control character, turn of direction, and byte that is no UTF-8 as "\x1b", and the middle of each
/// line of more than `longest` bytes left out. Ends of lines and tabs stay.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string shown_text(std::string_view text,
                                                                      std::size_t longest = 4000) {
  std::string result, line;
  while (!text.empty()) {
    auto const length = character_length(text);
    auto const character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (character == "\n") {
      append_cut_line(result, line, longest);
      result.push_back('\n');
      line.clear();
    } else if (length > 0 && is_visible(character)) {
      line.append(character);
    } else {
      append_shown_bytes(line, character);
    }
  }
  append_cut_line(result, line, longest);
  return result;
}

/// `shown_text` of a name, which is one line: ends of lines and tabs are shown as "\x0a" and "\x09", too.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string shown_name(std::string_view name,
                                                                      std::size_t longest = 200) {
  std::string line;
  for (char const c : name)
    if (c == '\n' || c == '\t')
      append_shown_bytes(line, std::string_view(&c, 1));
    else
      line.push_back(c);
  return shown_text(line, longest);
}

}  // namespace stagecraft::diagnostics
