// SPDX-License-Identifier: BSD-3-Clause
// The destination of texts of progress bars and callbacks, their clock, and numbers in Python's spelling.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <time.h>
#include <type_traits>

namespace stagecraft::trainers {

/// Rewrites digits in scientific notation as Python does; small and very large numbers keep the notation.
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
  int before_point = exponent + 1;  // digits before the point
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

/// Receives text. Made from any callable that takes a std::string_view; it keeps a reference, so the callable must be
/// an lvalue that lives longer. By default text goes to stdout, which is flushed each time.
class text_output {
 public:
  text_output() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, text_output> &&
             std::is_invocable_v<Function&, std::string_view>)
  text_output(Function& function)
      : receiver_(const_cast<void*>(static_cast<void const*>(&function))),
        write_([](void* receiver, std::string_view text) { (*static_cast<Function*>(receiver))(text); }) {}

  void operator()(std::string_view text) const { write_(receiver_, text); }

 private:
  static void write_to_stdout(void*, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void* receiver_ = nullptr;
  void (*write_)(void*, std::string_view) = write_to_stdout;
};

/// Tells the time in seconds. Made from any callable without arguments that returns a number; it keeps a reference, so
/// the callable must be an lvalue that lives longer. By default the system's time of day, as in Keras.
class time_source {
 public:
  time_source() = default;

  template <class Function>
    requires(!std::is_same_v<std::remove_const_t<Function>, time_source> && std::is_invocable_r_v<double, Function&>)
  time_source(Function& function)
      : source_(const_cast<void*>(static_cast<void const*>(&function))),
        seconds_([](void* source) -> double { return (*static_cast<Function*>(source))(); }) {}

  [[nodiscard]] double operator()() const { return seconds_(source_); }

 private:
  static double time_of_day(void*) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);  // not C's timespec_get, which Windows's C library lacks
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  void* source_ = nullptr;
  double (*seconds_)(void*) = time_of_day;
};

}  // namespace stagecraft::trainers
