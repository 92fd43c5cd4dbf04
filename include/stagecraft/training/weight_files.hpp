// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results of a model's functions for files. The functions themselves are in io/, which nothing here
// includes: they are found when a program that has included them calls them.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <string>
#include <vector>

namespace stagecraft {

/// Keras's keyword arguments of `load_weights`.
struct load_weights_options {
  /// True: layers whose names are not in the file keep their weights, and layers of the file that are not in the model
  /// are skipped.
  bool by_name = false;
  /// True, together with `by_name`: a layer whose weights have other shapes than the file's keeps its own.
  bool skip_mismatch = false;
};

}  // namespace stagecraft

namespace stagecraft::trainers {

/// The result of `load_weights`.
struct loaded_weights {
  int count = 0;  ///< weights that were read
  std::vector<std::string>
      skipped;  ///< layers of the model that kept their weights, and layers of the file that were skipped
};

/// The first argument of the functions in io/, by which a dependent call finds them in this namespace.
struct file_functions {};

/// Reports E5020 for a call of a function that reads or writes files, whose header is not included.
template <fixed_name Function, fixed_name Header>
inline constexpr diagnostic no_files_problem = [] {
  diagnostic problem;
  problem.report(5020, Function, " is called, and what reads and writes files is not included: write #include <",
                 Header, "> (CMake: stagecraft::io)");
  return problem;
}();
/// `Never` is false, and depends on the class that calls this.
template <bool Never, fixed_name Function, fixed_name Header>
constexpr void refuse_files() {
  static_assert(report<no_files_problem<Function, Header>>());
}

}  // namespace stagecraft::trainers
