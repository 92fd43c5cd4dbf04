// SPDX-License-Identifier: BSD-3-Clause
// This machine's C++ compiler, with the library's headers.
#pragma once

#include <string>
#include <vector>

namespace stagecraft::tool {

/// What the environment says of compilers: CXX, CXXFLAGS and STAGECRAFT_INCLUDE, line by line.
[[nodiscard]] std::string compiler_environment();

/// A compiler that is called.
struct cxx_compiler {
  std::string program;  ///< empty: the environment's CXX, or c++
  std::string include;  ///< of the library; empty: where this program finds it

  /// Whether it is GCC.
  [[nodiscard]] bool is_gcc() const;
  /// Compiles as C++20 with options, then the environment's CXXFLAGS, then more options and files. Returns what is
  /// wrong, in the library's words if it is one of its errors; empty: nothing. Throws file_error E5094, in which `what`
  /// is named, if the compiler cannot be started.
  [[nodiscard]] std::string try_run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
                                    std::string const& what) const;
  /// The same, but throws file_error E5094 with what is wrong.
  void run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
           std::string const& what) const;

 private:
  [[nodiscard]] std::string program_name() const;
};

}  // namespace stagecraft::tool
