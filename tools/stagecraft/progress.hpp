// SPDX-License-Identifier: BSD-3-Clause
// What long work is at, for who waits at a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// A line on the terminal that is written over as work goes on, "reading weights 42 of 161", and gone at its end: what
/// is printed then stands alone. Nothing is written where standard error is no terminal.
class progress {
 public:
  /// The program's: commands, and what they call, say to it what they are at.
  [[nodiscard]] static progress& shown();

  /// Begins a part, of `total` pieces if that is known.
  void begin(std::string_view part, std::size_t total = 0);
  /// One piece more is done.
  void advance();
  /// Takes the line away.
  void end();

 private:
  progress();
  void write();

  bool is_on_terminal_;
  bool is_written_ = false;
  std::string part_;
  std::size_t done_ = 0, total_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace stagecraft::tool
