// SPDX-License-Identifier: BSD-3-Clause
// Numbers as Python prints them, for texts and files that are to look like Keras's.
#pragma once

#include <stagecraft/diagnostics/text.hpp>

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::trainers {

/// Digits in scientific notation as Python has them, those of small and very large numbers as they are.
[[nodiscard, gnu::cold]] inline std::string spell_python_number(std::string_view text, bool is_tiny_float,
                                                                bool is_float) {
  std::size_t e = 0;
  while (text[e] != 'e') ++e;
  int exponent = 0;
  for (std::size_t i = e + 2; i < text.size(); ++i) exponent = exponent * 10 + (text[i] - '0');
  if (text[e + 1] == '-') exponent = -exponent;
  if ((is_float ? is_tiny_float : exponent < -4) || exponent >= 16) return std::string(text);

  fixed_text<40> plain;
  if (exponent < 0) plain.append(text[0] == '-' ? "-0." : "0.");
  for (int zero = exponent + 1; zero < 0; ++zero) plain.append('0');
  int before_point = exponent + 1;  // digits that come
  for (std::size_t i = 0; i < e; ++i) {
    if (text[i] == '.' || (text[i] == '-' && exponent < 0)) continue;
    if (text[i] != '-' && before_point-- == 0 && exponent >= 0) plain.append('.');
    plain.append(text[i]);
  }
  for (; before_point > 0; --before_point) plain.append('0');
  if (before_point == 0 && exponent >= 0) plain.append(".0");
  return std::string(plain.view());
}

/// Python's repr of a float, or, for float, numpy's text of a float32: the shortest digits that read back to the same
/// value, in scientific notation below 1e-4 and from 1e16 on. Numpy compares the value itself with 1e-4, so that the
/// float next to 1e-4, which is smaller, is 1e-04; Python compares the exponent of the digits.
template <class Float>
[[nodiscard, gnu::cold]] std::string python_repr(Float value) {
  if (value != value) return "nan";
  if (value - value != 0) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto const end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  auto const magnitude = static_cast<double>(value < 0 ? -value : value);
  return spell_python_number({buffer, static_cast<std::size_t>(end - buffer)}, magnitude != 0 && magnitude < 1e-4,
                             sizeof(Float) == sizeof(float));
}

}  // namespace stagecraft::trainers
