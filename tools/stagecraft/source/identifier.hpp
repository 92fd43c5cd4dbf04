// SPDX-License-Identifier: BSD-3-Clause
// Names that the tool declares in C++.
#pragma once

#include "source/source_text.hpp"

#include <compare>
#include <set>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// A name in an imported header: at most eighty letters, digits and single underscores. It is no keyword or reserved
/// name of C++, no name of the library that headers use, and no common macro.
class identifier {
 public:
  /// Makes a name of any text: "my-model 2" becomes "my_model_2", "int" becomes "int_", "2d" becomes "model_2d".
  explicit identifier(std::string_view text);

  /// This name, or a longer one, that `used` does not have; it is added to `used`.
  [[nodiscard]] identifier unused_in(std::set<identifier>& used) const;

  [[nodiscard]] std::string const& str() const noexcept { return name_; }
  operator source_text() const { return source_text(std::string(name_)); }

  friend auto operator<=>(identifier const&, identifier const&) = default;

 private:
  std::string name_;
};

/// A name for a model's type: "lstm" becomes "lstm_model".
[[nodiscard]] identifier type_name_of(std::string_view text);

inline source_text& source_text::operator+=(identifier const& more) { return text_ += more.str(), *this; }

}  // namespace stagecraft::tool
