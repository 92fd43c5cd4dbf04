// SPDX-License-Identifier: BSD-3-Clause
// The library's run-time errors. Everything that a compiler can know is a compile error instead; what is left (data,
// files, weights given at run time) throws one of these few types.
#pragma once

#include <stagecraft/diagnostics/shown_text.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stagecraft {

/// Base of all exceptions of this library. `what()` says what was expected and what came, and ends with the code,
/// for example "[E4001]", which has a section in docs/errors.md. What a file or a client calls something is in it as
/// `shown_text` shows it: no control characters, and long lines without their middle.
class error : public std::runtime_error {
 public:
  [[gnu::cold]] error(std::string_view code, std::string const& text)
      : std::runtime_error(with_code(code, text)), code_(code) {}

  /// The stable code, for example "E4001".
  [[nodiscard]] std::string_view code() const noexcept { return code_; }

 private:
  // One function for all strings, and no operator of theirs, which compilers instantiate for each mix of types.
  [[gnu::cold, gnu::noinline]] static std::string with_code(std::string_view code, std::string const& text) {
    return diagnostics::shown_text(text).append(" [").append(code).append("]");
  }

  std::string code_;
};

/// Data, labels, weights or options that do not fit the model (codes E4xxx).
class data_error : public error {
 public:
  using error::error;
};

/// A file that is missing, truncated or of another format than expected (codes E5xxx).
class file_error : public error {
 public:
  using error::error;
};

/// A vertex of an emulated IPU that reaches for another tile's memory, or beyond its own (E4101, E4102).
class tile_access_error : public error {
 public:
  using error::error;
};

/// A reason for which ipu_config::floating_point_behaviour stops a run: an invalid operation, a division by zero or
/// an overflow (E4103 to E4105).
class floating_point_error : public error {
 public:
  using error::error;
};

}  // namespace stagecraft
