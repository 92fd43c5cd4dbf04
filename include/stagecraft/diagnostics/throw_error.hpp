// SPDX-License-Identifier: BSD-3-Clause
// Throws run-time errors with a formatted text. The formatting is out of line and one for all callers, which keeps the
// many checks of data and options cheap to compile.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>

namespace stagecraft::diagnostics {

/// Throws data_error with a printf format and its arguments.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void throw_data_error(char const* code,
                                                                                               char const* format,
                                                                                               ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int const length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, ' ');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  throw data_error(code, text);
}

}  // namespace stagecraft::diagnostics
