// SPDX-License-Identifier: BSD-3-Clause
// The name of a type as a text, for messages and for the default name of a model subclass.
#pragma once

#include <string_view>

namespace stagecraft::diagnostics {

/// The name of a type as it stands in the source, without its namespaces and template arguments.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  auto const begin = text.find("T = ") + 4;
  text = text.substr(begin, text.find_first_of(";]", begin) - begin);
  if (text.find("lambda") != std::string_view::npos) return "a lambda";
  text = text.substr(0, text.find('<', 1));
  if (auto const scope = text.find_last_of(":)"); scope != std::string_view::npos && scope + 1 < text.size())
    text = text.substr(scope + 1);
  return text;
}

}  // namespace stagecraft::diagnostics
