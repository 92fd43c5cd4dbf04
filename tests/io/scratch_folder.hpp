// SPDX-License-Identifier: BSD-3-Clause
// A folder for the files of a test case, and what the errors of reading them say.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

namespace tests {

/// A folder of this process, which is removed in the end.
struct scratch_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("stagecraft_io_" + std::to_string(::getpid()));
  scratch_folder() { std::filesystem::create_directories(path); }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string operator/(char const* name) const { return path / name; }
};

/// What an error says, with its code.
template <class Error = stagecraft::error, class Function>
std::string error_of(Function const& function) {
  try {
    function();
  } catch (Error const& problem) {
    return problem.what();
  }
  return "no error";
}

/// Shows the text that lacks a part.
inline bool contains(std::string const& text, std::string_view part) {
  bool const found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace tests
