// SPDX-License-Identifier: BSD-3-Clause
// This machine's C++ compiler, with the library's headers.
#pragma once

#include <string>
#include <vector>

namespace stagecraft::tool {

/// A compiler that is called.
struct cxx_compiler {
  std::string program;  ///< empty: the environment's CXX, or c++
  std::string include;  ///< of the library; empty: where this program finds it

  /// Whether it is GCC.
  [[nodiscard]] bool is_gcc() const;
  /// Compiles as C++20 with options, then the environment's CXXFLAGS, then more options and files. Throws file_error
  /// E5094, in which `what` is named, with the compiler's errors.
  void run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
           std::string const& what) const;

 private:
  [[nodiscard]] std::string program_name() const;
};

}  // namespace stagecraft::tool
