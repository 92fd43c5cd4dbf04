// SPDX-License-Identifier: BSD-3-Clause
// Files of text that the library writes: pictures and traces.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace stagecraft::reports {

/// Writes a whole file. `function` is what errors call the function that the user called.
/// Throws file_error E5050 with the system's reason; nothing but what was written so far is left of the file.
inline void write_text_file(std::string const& path, std::string_view text, std::string_view function) {
  auto const fail = [&](char const* what) {
    auto const* const reason = std::strerror(errno);
    throw file_error("E5050", std::string(function) + ": cannot " + what + " '" + path + "': " + reason);
  };
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail("open");
  bool const written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int const reason = errno;
  if (std::fclose(file) != 0) fail("write");  // what was written may leave the buffer only here
  if (!written) {
    errno = reason;
    fail("write");
  }
}

/// The name of a file does not tell what to write: E5051. `endings` are those that do.
[[noreturn]] inline void throw_unknown_ending(std::string const& path, std::string_view endings,
                                              std::string_view function) {
  throw file_error("E5051", std::string(function) + ": cannot tell from the name '" + path +
                                "' what to write; it ends in " + std::string(endings));
}

}  // namespace stagecraft::reports
