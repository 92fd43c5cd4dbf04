// SPDX-License-Identifier: BSD-3-Clause
// Rows of the tables of docs/ipu.md that tests compute anew: what others have measured, and what is predicted.
#pragma once

#include <doctest/doctest.h>

#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

inline std::string const& documentation() {
  static std::string const text = [] {
    std::ifstream file(STAGECRAFT_GOLDEN_DIR "/../../docs/ipu.md");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return text;
}

[[gnu::format(printf, 1, 2)]] inline std::string formatted(char const* format, ...) {
  char text[200];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

/// Prints a row of a table and looks for it in the documentation.
inline void check_documented(std::string const& row) {
  std::cout << row << '\n';
  bool const stands_there = documentation().find(row + '\n') != std::string::npos;
  CHECK_MESSAGE(stands_there, "docs/ipu.md has not the row " << row);
}

/// predicted / measured, if it is in the range of the documentation.
inline double ratio_within(double predicted, double measured, double least, double most) {
  double const ratio = predicted / measured;
  CAPTURE(predicted);
  CAPTURE(measured);
  CHECK(ratio >= least);
  CHECK(ratio <= most);
  return ratio;
}
