// SPDX-License-Identifier: BSD-3-Clause
// The layout of Keras's tables: cells are cut and filled up at the ends of their columns.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/models/summary_options.hpp>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace stagecraft::models {

/// A text of any length, for one line or cell of a table.
class table_text {
 public:
  table_text() = default;
  table_text(std::string_view text) { append(text); }

  table_text& append(std::string_view text) {
    characters_.append(text.data(), text.data() + text.size());
    return *this;
  }
  table_text& append(char c) {
    characters_.push_back(c);
    return *this;
  }
  table_text& append(long long number) { return append(fixed_text<20>().append(number).view()); }
  table_text& append(int number) { return append(static_cast<long long>(number)); }
  /// A number with a comma between thousands, as Python's "{:,}".
  [[gnu::cold]] table_text& append_with_commas(long long number) {
    auto const digits = fixed_text<20>().append(number);
    for (std::size_t i = 0; i < digits.length; ++i) {
      if (i > 0 && (digits.length - i) % 3 == 0) append(',');
      append(digits.characters[i]);
    }
    return *this;
  }
  /// Cut or filled up with spaces.
  void resize(std::size_t length) { characters_.resize(length, ' '); }
  void end_with_space() {
    if (!characters_.empty()) characters_.back() = ' ';
  }

  [[nodiscard]] std::string_view view() const { return {characters_.data(), characters_.size()}; }

 private:
  growing_array<char> characters_;
};

/// Prints the lines of one table. `widths` are the ends of the columns as fractions of a line.
class table_printer {
 public:
  table_printer(summary_options const& options, int default_length, tracing::array_view<double const> widths)
      : length_(options.line_length > 0 ? options.line_length : default_length), print_(options.print_fn) {
    for (double const width : widths) ends_.push_back(static_cast<std::size_t>(length_ * width));
  }

  void line(std::string_view text) const { print_(text); }
  void rule(char c) const {
    growing_array<char> const line(static_cast<std::size_t>(length_), c);
    print_({line.data(), line.size()});
  }
  /// `Model: "mlp"`.
  [[gnu::cold]] void title(std::string_view before, std::string_view name) const {
    table_text text(before);
    line(text.append(": \"").append(name).append('"').view());
  }
  /// Columns without a text stay blank.
  [[gnu::cold]] void row(std::initializer_list<std::string_view> cells) const {
    table_text text;
    auto cell = cells.begin();
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (i > 0) text.end_with_space();
      if (cell != cells.end()) text.append(*cell++);
      text.resize(ends_[i]);
    }
    line(text.view());
  }

 private:
  int length_;
  line_printer const& print_;
  growing_array<std::size_t> ends_;
};

}  // namespace stagecraft::models
