// SPDX-License-Identifier: BSD-3-Clause
// This machine's C++ compiler, with the library's headers.
#pragma once

#include <string>
#include <vector>

namespace stagecraft::tool {

/// Returns the environment's CXX, CXXFLAGS and STAGECRAFT_INCLUDE, each on a line.
[[nodiscard]] std::string compiler_environment();

/// A compiler and the library's headers.
struct cxx_compiler {
  std::string program;  ///< empty: the environment's CXX, or c++
  std::string include;  ///< folder of the library's headers; empty: the one that this program knows

  /// True if the compiler is GCC.
  [[nodiscard]] bool is_gcc() const;
  /// Compiles as C++20 with options, then the environment's CXXFLAGS, then more options and files. Returns the error,
  /// in the library's words if it is one of its own; empty: none. Throws file_error E5094, which names `what`, if the
  /// compiler cannot be started.
  [[nodiscard]] std::string try_run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
                                    std::string const& what) const;
  /// Runs the compiler like the function above. Throws file_error E5094 with its output if it fails.
  void run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
           std::string const& what) const;

 private:
  [[nodiscard]] std::string program_name() const;
};

}  // namespace stagecraft::tool
