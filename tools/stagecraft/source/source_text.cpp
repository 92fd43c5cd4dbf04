// SPDX-License-Identifier: BSD-3-Clause
#include "source/source_text.hpp"

#include "source/identifier.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace stagecraft::tool {

namespace {

constexpr std::size_t columns = 120, longest_comment = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

template <class Number>
std::string shortest_text(Number number) {
  if (!std::isfinite(number)) throw std::invalid_argument("C++ has no literal of a number that is not finite");
  std::array<char, 64> text{};
  auto const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  std::string result(text.data(), end);
  if (auto const zero = result.find("e-0"); zero != std::string::npos) result.erase(zero + 2, 1);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

/// Escapes a text to printable ASCII, without quotes around it. Question marks are escaped, too, since two would begin
/// a trigraph for old compilers.
std::string escaped(std::string_view text) {
  std::string result;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (!is_printable(c)) {
      // Always three digits, so that a digit after them is not taken for a part.
      result += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
                 static_cast<char>('0' + byte % 8)};
      continue;
    }
    if (c == '"' || c == '\\' || (c == '?' && result.ends_with('?'))) result += '\\';
    result += c;
  }
  return result;
}

/// Reads `mine::scale<28, other<2>>` from its beginning.
class type_reader {
 public:
  explicit type_reader(std::string_view text) : text_(text) {}

  bool read_all() { return read_name(0) && at_ == text_.size(); }

 private:
  static constexpr int deepest = 8;

  bool takes(std::string_view what) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  bool read_name(int depth) {
    takes("::");
    do {
      takes("");
      auto const begin = at_;
      while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
      if (at_ == begin) return false;
      if (takes("<") && !read_arguments(depth + 1)) return false;
    } while (takes("::"));
    return true;
  }
  bool read_arguments(int depth) {
    if (depth > deepest) return false;
    do
      if (!read_number() && !read_name(depth)) return false;
    while (takes(","));
    return takes(">");
  }
  bool read_number() {
    takes("");
    auto end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    auto const begin = end;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end == begin) return false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1]))
      for (++end; end < text_.size() && is_digit(text_[end]);) ++end;
    if (end < text_.size() && (text_[end] == 'F' || text_[end] == 'U')) ++end;
    at_ = end;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

source_text whole_number_text(long long number) { return source_text(std::to_string(number)); }
source_text whole_number_text(unsigned long long number) { return source_text(std::to_string(number)); }
source_text number_text(double number) { return source_text(shortest_text(number)); }
source_text number_text(float number) { return source_text(shortest_text(number) + "F"); }

source_text string_literal(std::string_view text) { return source_text("\"" + escaped(text) + "\""); }

source_text lines_literal(std::string_view text) {
  constexpr std::string_view end = ")json\"";
  bool const is_plain = std::all_of(text.begin(), text.end(), [](char c) { return is_printable(c) || c == '\n'; });
  if (is_plain && text.find(end) == std::string_view::npos && text.find("?\?") == std::string_view::npos)
    return source_text("R\"json(" + std::string(text) + std::string(end));
  std::string result;
  while (!text.empty()) {
    auto const line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    bool const is_ended = line.ends_with('\n');
    result += (result.empty() ? "\"" : "\n\"") + escaped(line.substr(0, line.size() - (is_ended ? 1 : 0))) +
              (is_ended ? "\\n\"" : "\"");
  }
  return source_text(result.empty() ? "\"\"" : std::move(result));
}

source_text comment_text(std::string_view text) {
  bool const is_cut = text.size() > longest_comment;
  return source_text(escaped(text.substr(0, longest_comment)) + (is_cut ? "..." : ""));
}

std::optional<source_text> file_in_quotes(std::string_view name) {
  for (char const c : name)
    if (!is_letter(c) && !is_digit(c) && std::string_view(" !#%&()+,-.=@[]^{}~").find(c) == std::string_view::npos)
      return std::nullopt;
  if (name.empty() || name.front() == ' ' || name.back() == ' ' || name == "." || name == "..") return std::nullopt;
  return source_text("\"" + std::string(name) + "\"");
}

std::optional<source_text> type_in_header(std::string_view name) {
  if (!type_reader(name).read_all()) return std::nullopt;
  return source_text(std::string(name));
}

source_text indent_of(std::size_t count) { return source_text(std::string(count, ' ')); }

source_text comma_list(std::vector<source_text> const& entries) {
  source_text text;
  for (auto const& each : entries) text += (text.empty() ? ""_cpp : ", "_cpp) + each;
  return text;
}

source_text wrap(source_text const& line) {
  std::string text, rest = line.text_;
  auto begin = rest.find_first_not_of(' ');
  std::string const indent(begin == std::string::npos ? 0 : begin + 4, ' ');
  while (rest.size() > columns) {
    bool in_text = false;
    std::size_t best = 0;
    for (std::size_t i = begin; i < columns; ++i) {
      if (rest[i] == '"') in_text = !in_text;
      if (in_text && rest[i] == '\\') ++i;  // a quotation mark after a backslash ends no text
      if (in_text) continue;
      if (rest[i] == ' ' && (rest[i - 1] == ',' || rest[i - 1] == ';')) best = i + 1;
      if (rest[i] == '.' && i > begin && rest[i - 1] == ')') best = i;
    }
    if (best <= begin + 4) break;
    auto head = rest.substr(0, best);
    while (head.ends_with(' ')) head.pop_back();
    text += head + "\n";
    rest = indent + rest.substr(best);
    begin = indent.size();
  }
  return source_text(text + rest + "\n");
}

source_text wrap_list(source_text const& begin, std::vector<source_text> const& entries, own_text end) {
  source_text text, line = begin;
  auto const indent = indent_of(begin.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto const entry = entries[i] + (i + 1 < entries.size() ? ","_cpp : end);
    bool const is_first = line == begin || line == indent;
    if (!is_first && line.size() + 1 + entry.size() > columns) {
      text += wrap(line);
      line = indent + entry;
    } else {
      line += (is_first ? ""_cpp : " "_cpp) + entry;
    }
  }
  return text + wrap(line);
}

}  // namespace stagecraft::tool
