// SPDX-License-Identifier: BSD-3-Clause
// C++ that the tool writes. A model's file is somebody else's data, and none of its texts may become code. So source is
// a type of its own, and no std::string converts to it: it is only made of literals of this program, numbers,
// identifiers (identifier.hpp), and texts in quotes or in a comment, each by one function below.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::tool {

class identifier;

/// C++ from the tool's own code, or spelled by the compiler, such as the name of an option. It is only made at compile
/// time, so that no text that is read at run time can become one.
class own_text {
 public:
  consteval own_text(char const* text) : text_(text) {}
  explicit consteval own_text(std::string_view text) : text_(text) {}

  [[nodiscard]] constexpr std::string_view view() const noexcept { return text_; }
  constexpr operator std::string_view() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// A literal of the tool's own C++. Both branches of a condition can have one: `is_first ? ""_cpp : ", "_cpp`.
consteval own_text operator""_cpp(char const* text, std::size_t) { return text; }

/// A piece of C++.
class source_text {
 public:
  source_text() = default;
  source_text(own_text text) : text_(text.view()) {}

  source_text& operator+=(own_text more) { return text_ += more.view(), *this; }
  source_text& operator+=(source_text const& more) { return text_ += more.text_, *this; }
  source_text& operator+=(identifier const& more);

  [[nodiscard]] std::string const& str() const noexcept { return text_; }
  [[nodiscard]] std::string_view view() const noexcept { return text_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

  friend bool operator==(source_text const&, source_text const&) = default;

 private:
  // These make source of other things. A function that is added here must explain in its comment why no foreign text
  // becomes code.
  friend class identifier;
  friend source_text whole_number_text(long long number);
  friend source_text whole_number_text(unsigned long long number);
  friend source_text number_text(double number);
  friend source_text number_text(float number);
  friend source_text string_literal(std::string_view text);
  friend source_text lines_literal(std::string_view text);
  friend source_text comment_text(std::string_view text);
  friend std::optional<source_text> file_in_quotes(std::string_view name);
  friend std::optional<source_text> type_in_header(std::string_view name);
  friend source_text wrap(source_text const& line);
  friend source_text indent_of(std::size_t columns);

  template <std::same_as<std::string> Text>
  explicit source_text(Text&& text) : text_(std::move(text)) {}

  std::string text_;
};

inline source_text operator+(source_text a, source_text const& b) { return std::move(a += b); }
inline source_text operator+(source_text a, own_text b) { return std::move(a += b); }
inline source_text operator+(own_text a, source_text const& b) { return std::move(source_text(a) += b); }
inline source_text operator+(own_text a, own_text b) { return std::move(source_text(a) += b); }

/// A whole number: digits, after '-' if it is negative.
[[nodiscard]] source_text whole_number_text(long long number);
[[nodiscard]] source_text whole_number_text(unsigned long long number);
template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>)
[[nodiscard]] source_text number_text(Number number) {
  using widest = std::conditional_t<std::is_signed_v<Number>, long long, unsigned long long>;
  return whole_number_text(static_cast<widest>(number));
}
/// The shortest text that denotes this number, with a point: "0.1", "1e-06", "2.0". Throws std::invalid_argument for
/// NaN and infinities, for which C++ has no literals.
[[nodiscard]] source_text number_text(double number);
/// Writes a float like the function above, with the suffix F.
[[nodiscard]] source_text number_text(float number);

/// A text in quotes. All but printable ASCII is escaped, so that it can neither end the literal nor deceive a reader by
/// letters that resemble others or marks that reverse the direction of reading.
[[nodiscard]] source_text string_literal(std::string_view text);
/// A text of several lines: R"json(...)json" for printable ASCII, otherwise one literal in quotes for each line.
[[nodiscard]] source_text lines_literal(std::string_view text);
/// A text in a `//` comment: escaped as in a literal, so that it neither ends nor continues the line; a text that is
/// longer than two hundred letters is cut.
[[nodiscard]] source_text comment_text(std::string_view text);
/// A file beside the source, as #include names it: "digits.hpp" with its quotes. None if the name has anything but
/// letters, digits and harmless marks of ASCII, since #include has no escapes.
[[nodiscard]] std::optional<source_text> file_in_quotes(std::string_view name);
/// A type of a header that belongs to an exported model: "mine::scale<28>". None if it has anything but names, `::`,
/// and lists of names and numbers in <>.
[[nodiscard]] std::optional<source_text> type_in_header(std::string_view name);

/// Wraps a line at 120 columns, at commas or before operators, and indents the rest by four.
[[nodiscard]] source_text wrap(source_text const& line);
/// Wraps a list in <>, {} or (): as many entries in a line as fit, aligned after `begin`.
[[nodiscard]] source_text wrap_list(source_text const& begin, std::vector<source_text> const& entries, own_text end);
/// Spaces.
[[nodiscard]] source_text indent_of(std::size_t columns);
/// Returns the entries of a list with ", " between them.
[[nodiscard]] source_text comma_list(std::vector<source_text> const& entries);

}  // namespace stagecraft::tool
