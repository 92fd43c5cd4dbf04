// SPDX-License-Identifier: BSD-3-Clause
// Numbers as texts, and back, that no locale changes: neither setlocale nor std::locale::global nor a thread's own.
// Everything that writes or reads a number with a point in it comes here or uses <charconv> itself.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#ifndef __cpp_lib_to_chars
#include <locale.h>
#endif

namespace stagecraft::diagnostics {

/// A number as printf writes it in the C locale, but for a NaN with a sign, which is "nan".
class written_number {
 public:
  /// `digits` as the precision of printf's %f, %e or %g (fixed, scientific, general): at most 99.
  written_number(double value, std::chars_format format, int digits) noexcept {
    if (value != value) value = __builtin_nan("");
    auto const written = std::to_chars(characters_, characters_ + sizeof characters_ - 1, value, format,
                                       digits < 0    ? 0
                                       : digits > 99 ? 99
                                                     : digits);
    length_ = static_cast<std::size_t>(written.ptr - characters_);
    characters_[length_] = '\0';
  }

  [[nodiscard]] std::string_view view() const noexcept { return {characters_, length_}; }
  operator std::string_view() const noexcept { return view(); }
  [[nodiscard]] char const* c_str() const noexcept { return characters_; }

 private:
  char characters_[416];  // a sign, 309 digits, the point, 99 digits
  std::size_t length_;
};

/// printf's "%.<digits>f".
[[nodiscard]] inline written_number fixed_digits(double value, int digits) noexcept {
  return {value, std::chars_format::fixed, digits};
}
/// printf's "%.<digits>e".
[[nodiscard]] inline written_number scientific_digits(double value, int digits) noexcept {
  return {value, std::chars_format::scientific, digits};
}
/// printf's "%.<digits>g".
[[nodiscard]] inline written_number general_digits(double value, int digits) noexcept {
  return {value, std::chars_format::general, digits};
}

/// The double next to the shortest decimal that is this float: 0.1, not 0.10000000149, as Python has numbers that were
/// written in a program. What is not finite stays what it is.
[[nodiscard]] inline double decimal_of(float value) noexcept {
  char text[32];
  auto const end = std::to_chars(text, text + sizeof text, value).ptr;
#ifdef __cpp_lib_to_chars
  double result = static_cast<double>(value);
  std::from_chars(text, end, result);
  return result;
#else  // libc++ 19 reads no floating-point numbers with <charconv>
  *end = '\0';
  static locale_t const classic = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, nullptr, classic);
#endif
}

}  // namespace stagecraft::diagnostics
