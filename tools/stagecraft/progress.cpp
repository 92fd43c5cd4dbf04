// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <stagecraft/diagnostics/shown_text.hpp>
#include <cstdio>
#include <unistd.h>

namespace stagecraft::tool {

progress::progress() : is_on_terminal_(::isatty(STDERR_FILENO) == 1) {}

progress& progress::shown() {
  static progress only;
  return only;
}

void progress::begin(std::string_view part, std::size_t total) {
  part_ = diagnostics::shown_name(part);
  done_ = 0;
  total_ = total;
  write();
}

void progress::advance() {
  ++done_;
  constexpr std::chrono::milliseconds pause{50};  // a terminal is slower than what it shows
  if (std::chrono::steady_clock::now() - last_ > pause) write();
}

void progress::write() {
  if (!is_on_terminal_) return;
  auto const of = total_ == 0 ? std::string() : " " + std::to_string(done_) + " of " + std::to_string(total_);
  std::fprintf(stderr, "\r\033[K%s%s", part_.c_str(), of.c_str());
  std::fflush(stderr);
  is_written_ = true;
  last_ = std::chrono::steady_clock::now();
}

void progress::end() {
  if (is_written_) std::fputs("\r\033[K", stderr);
  is_written_ = false;
}

}  // namespace stagecraft::tool
