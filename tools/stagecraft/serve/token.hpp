// SPDX-License-Identifier: BSD-3-Clause
// The bearer token that requests of any protocol must have.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// Reads the token of a file, without the end of its line. Throws file_error E5096 if there is none.
[[nodiscard]] inline std::string read_token(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string token{std::istreambuf_iterator<char>(file), {}};
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!file || token.empty()) throw file_error("E5096", path + ": has no token");
  return token;
}

/// Compares texts in a time that does not depend on the place of a difference.
[[nodiscard]] inline bool is_same_token(std::string_view a, std::string_view b) {
  unsigned differences = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return differences == 0;
}

/// Returns the token after "Bearer", which may have letters of any case; empty if it is another scheme.
[[nodiscard]] inline std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer";
  if (authorization.size() <= scheme.size() || authorization[scheme.size()] != ' ') return {};
  if (!std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                  [](unsigned char a, unsigned char b) { return a == std::tolower(b); }))
    return {};
  authorization.remove_prefix(scheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

}  // namespace stagecraft::tool
