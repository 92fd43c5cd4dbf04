// SPDX-License-Identifier: BSD-3-Clause
// How deep lists and objects of JSON are in each other, before it is parsed: to copy them takes stack, and a parser
// that asks a function at each value looks through all that came before it.
#pragma once

#include <cstddef>
#include <string_view>

namespace stagecraft::io {

/// Whether lists and objects are nested more than `deepest` deep. Of what is no JSON, the answer may be either.
[[nodiscard]] constexpr bool is_nested_deeper(std::string_view text, int deepest) noexcept {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}
static_assert(is_nested_deeper("[[]]", 1) && !is_nested_deeper("[[]]", 2));
static_assert(!is_nested_deeper(R"(["[[\"[", {}])", 2));

}  // namespace stagecraft::io
