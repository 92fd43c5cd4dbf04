// SPDX-License-Identifier: BSD-3-Clause
// Files that tests write, and the errors of writing them.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

/// A file in the system's folder for such files; removed at the end.
class temporary_file {
 public:
  explicit temporary_file(std::string const& name)
      : path_((std::filesystem::temp_directory_path() / ("stagecraft_report_" + name)).string()) {}
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() { std::remove(path_.c_str()); }

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }

 private:
  std::string path_;
};

/// The text of the error that a function throws; empty without one.
template <class Function>
std::string error_of(Function const& function) {
  try {
    function();
  } catch (stagecraft::error const& problem) {
    return problem.what();
  }
  return {};
}
