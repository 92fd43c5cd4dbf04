// SPDX-License-Identifier: BSD-3-Clause
// The error that a word of `ops` reports for a tensor that does not fit.
#pragma once

#include <stagecraft/operations/tensor.hpp>
#include <initializer_list>
#include <string_view>

namespace stagecraft::operations::detail {

/// The reason that a tensor is refused. There is one type for all texts, which saves compilers a template for each of
/// them.
struct refusal {
  tensor x;
  std::string_view what;  ///< # stands for the next number, @ for the next shape
  std::initializer_list<int> numbers;
  std::initializer_list<extents> shapes;

  /// True if one of the shapes stands in for one whose error was reported.
  [[nodiscard]] constexpr bool already_reported() const {
    for (extents const& shape : shapes)
      if (shape.already_reported()) return true;
    return false;
  }
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append("a tensor of shape ");
    x.shape().append_to(text);
    text.append(' ');
    auto const* number = numbers.begin();
    auto const* shape = shapes.begin();
    for (char const letter : what) {
      if (letter == '#')
        text.append(*number++);
      else if (letter == '@')
        (shape++)->append_to(text);
      else
        text.append(letter);
    }
  }
};

/// Reports what is wrong with x, and returns it. E1070.
constexpr tensor refused(tensor x, std::string_view what, std::initializer_list<int> numbers = {},
                         std::initializer_list<extents> shapes = {}) {
  x.list->fail(refusal{x, what, numbers, shapes});
  return x;
}

}  // namespace stagecraft::operations::detail
