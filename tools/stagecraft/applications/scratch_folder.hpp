// SPDX-License-Identifier: BSD-3-Clause
// A folder for programs that the tool compiles and runs itself.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace stagecraft::tool {

/// A temporary folder, which is removed at the end. Throws file_error E5041 if it cannot be made.
class scratch_folder {
 public:
  scratch_folder() : path_((std::filesystem::temp_directory_path() / "stagecraft-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw file_error("E5041", path_ + ": the folder cannot be made");
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  [[nodiscard]] std::string operator/(std::string const& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace stagecraft::tool
