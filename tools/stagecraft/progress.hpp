// SPDX-License-Identifier: BSD-3-Clause
// Shows the progress of long work on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// A line on the terminal, "reading weights 42 of 161", which is overwritten as work goes on and removed at its end,
/// before results are printed. Nothing is written if standard error is no terminal.
class progress {
 public:
  /// The program's progress line, to which commands and their functions report.
  [[nodiscard]] static progress& shown();

  /// Begins a part, of `total` pieces if that is known.
  void begin(std::string_view part, std::size_t total = 0);
  /// Reports one more finished piece.
  void advance();
  /// Removes the line.
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
