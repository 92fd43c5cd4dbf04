// SPDX-License-Identifier: BSD-3-Clause
// Whether a text is well-formed XML, as far as the library writes it.
#pragma once

#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What is wrong with a page or picture; empty: nothing. Each element is closed, in order; attributes are between
/// double quotes, each once; there are no characters that XML does not have, and no references but the usual ones; an
/// id is an element's only.
class xml_problem {
 public:
  static std::string of(std::string_view text) { return xml_problem(text).find(); }

 private:
  explicit xml_problem(std::string_view text) : rest_(text) {}

  std::string find() {
    constexpr std::string_view doctype = "<!DOCTYPE html>\n";
    if (rest_.starts_with(doctype)) rest_.remove_prefix(doctype.size());
    bool root = false;
    while (!rest_.empty()) {
      if (rest_[0] == '<') {
        if (root && open_.empty()) return "a second root: " + here();
        root = true;
        if (auto problem = read_tag(); !problem.empty()) return problem;
      } else {
        auto const content = rest_.substr(0, rest_.find('<'));
        if (open_.empty() && content != "\n") return "text outside of the root: " + here();
        if (auto problem = problem_of_text(content); !problem.empty()) return problem;
        rest_.remove_prefix(content.size());
      }
    }
    return open_.empty() ? "" : "not closed: " + open_.back();
  }

  std::string here() const { return std::string(rest_.substr(0, 60)); }

  static std::string problem_of_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto const byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x20 && byte != '\n') return "a control character in: " + std::string(text);
      if (text[i] != '&') continue;
      bool known = false;
      for (std::string_view const name : {"&amp;", "&lt;", "&gt;", "&quot;"})
        known = known || text.substr(i).starts_with(name);
      if (!known) return "an & in: " + std::string(text.substr(i, 40));
    }
    return {};
  }

  std::string read_tag() {
    rest_.remove_prefix(1);
    bool const closes = rest_.starts_with("/");
    if (closes) rest_.remove_prefix(1);
    std::size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0)) ++length;
    auto const name = std::string(rest_.substr(0, length));
    if (name.empty()) return "no name: " + here();
    rest_.remove_prefix(length);
    if (closes) {
      if (open_.empty() || open_.back() != name) return "closed, but not open: " + name;
      open_.pop_back();
      return skip(">");
    }
    std::set<std::string> attributes;
    while (rest_.starts_with(" ")) {
      rest_.remove_prefix(1);
      auto const end = rest_.find("=\"");
      auto const attribute = std::string(rest_.substr(0, end));
      if (end == std::string_view::npos || attribute.find_first_of("<>\" ") != std::string::npos)
        return "no attribute: " + here();
      if (!attributes.insert(attribute).second) return "twice: " + attribute;
      rest_.remove_prefix(end + 2);
      auto const value = rest_.substr(0, rest_.find('"'));
      if (value.size() == rest_.size() || value.find('<') != std::string_view::npos) return "not closed: " + here();
      if (auto problem = problem_of_text(value); !problem.empty()) return problem;
      if (attribute == "id" && !ids_.insert(std::string(value)).second) return "an id twice: " + std::string(value);
      rest_.remove_prefix(value.size() + 1);
    }
    if (rest_.starts_with("/>")) return skip("/>");
    open_.push_back(name);
    return skip(">");
  }

  std::string skip(std::string_view what) {
    if (!rest_.starts_with(what)) return "no " + std::string(what) + ": " + here();
    rest_.remove_prefix(what.size());
    return {};
  }

  std::string_view rest_;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
};

/// How often a text stands in another one.
inline std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t number = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++number;
  return number;
}
