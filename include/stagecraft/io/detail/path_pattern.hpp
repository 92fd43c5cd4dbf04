// SPDX-License-Identifier: BSD-3-Clause
// Names of files with numbers of the training in them, in Python's spelling: "digits_{epoch:02d}_{val_loss:.2f}".
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace stagecraft::io {

/// Whether a format is one of a number, without its kind: "02", "6.3", ".2".
[[nodiscard]] inline bool is_number_format(std::string_view format) {
  std::size_t digits = 0, points = 0;
  for (char const c : format) {
    if (c == '.')
      ++points, digits = 0;
    else if (c < '0' || c > '9' || ++digits > 2)
      return false;
  }
  return points <= 1;
}

/// A number of a name in a format that `is_number_format`, in any locale.
[[nodiscard]] inline std::string number_in_format(double value, std::string_view format, char kind) {
  auto const point = format.find('.');
  auto const number = [](std::string_view digits) {
    int result = 0;
    for (char const c : digits) result = 10 * result + (c - '0');
    return result;
  };
  int const digits = point == std::string_view::npos ? 6 : number(format.substr(point + 1));
  std::string text = kind == 'd'   ? std::to_string(static_cast<long long>(value))
                     : kind == 'f' ? std::string(diagnostics::fixed_digits(value, digits))
                     : kind == 'e' ? std::string(diagnostics::scientific_digits(value, digits))
                                   : std::string(diagnostics::general_digits(value, digits));
  auto const width = static_cast<std::size_t>(number(format.substr(0, point)));
  if (text.size() < width) {
    bool const has_zeros = format.starts_with('0') && std::isfinite(value);
    text.insert(has_zeros && text.front() == '-' ? 1 : 0, width - text.size(), has_zeros ? '0' : ' ');
  }
  return text;
}

/// A number in a format of Python's: "", "d", "02d", ".3f", "e", "g".
[[nodiscard]] inline std::string number_text(double value, std::string format, std::string const& pattern) {
  char const kind = format.empty() ? 'g' : format.back();
  if (!format.empty()) format.pop_back();
  bool const is_integer = kind == 'd';
  if (std::string_view("dfeg").find(kind) == std::string_view::npos || !is_number_format(format) ||
      (is_integer && !(value == std::floor(value) && std::abs(value) < 9e18)))
    refuse("E5034", pattern,
           "'" + format + kind + "' is no format of this number; write for example {epoch:02d} or {val_loss:.2f}");
  return number_in_format(value, format, kind);
}

/// Puts `epoch`, `batch` (from 1 on; 0: there is none) and the values of the logs into a pattern. "{{" is a brace.
/// Throws file_error E5034 for a name that there is not, or a format that is none.
[[nodiscard]] inline std::string path_of_pattern(std::string const& pattern, int epoch, int batch, logs const& values) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char const c = pattern[i];
    bool const is_doubled = (c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c;
    if (c != '{' || is_doubled) {
      path += c;
      i += is_doubled ? 1 : 0;
      continue;
    }
    auto const end = pattern.find('}', i);
    if (end == std::string::npos) refuse("E5034", pattern, "a brace is not closed");
    auto const inside = pattern.substr(i + 1, end - i - 1);
    auto const colon = inside.find(':');
    auto const name = inside.substr(0, colon);
    auto const format = colon == std::string::npos ? std::string() : inside.substr(colon + 1);
    i = end;
    if (name == "epoch" || (name == "batch" && batch > 0))
      path += number_text(name == "epoch" ? epoch : batch, format.empty() ? "d" : format, pattern);
    else if (auto const* const value = values.find(name))
      path += number_text(*value, format, pattern);
    else
      refuse("E5034", pattern,
             "there is no '" + name + "'; there are: epoch, " + (batch > 0 ? "batch, " : "") + values.names());
  }
  return path;
}

}  // namespace stagecraft::io
