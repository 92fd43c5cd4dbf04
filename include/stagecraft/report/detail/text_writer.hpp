// SPDX-License-Identifier: BSD-3-Clause
// The text of pictures, reports and traces: numbers that follow no locale, characters escaped for XML and JSON,
// quantities with three digits and a unit, events of Chrome's trace viewer (Google's "Trace Event Format"), and writing
// of files.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/shown_text.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::reports {

/// Writes a whole file. Errors name `function` as the function that the user called.
/// Throws file_error E5050 with the system's reason; the file then holds only what was written so far.
inline void write_text_file(std::string const& path, std::string_view text, std::string_view function) {
  auto const fail = [&](char const* what) {
    auto const* const reason = std::strerror(errno);
    throw file_error("E5050", std::string(function) + ": cannot " + what + " '" + path + "': " + reason);
  };
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail("open");
  bool const written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int const reason = errno;
  if (std::fclose(file) != 0) fail("write");  // what was written may leave the buffer only here
  if (!written) {
    errno = reason;
    fail("write");
  }
}

/// Throws file_error E5051: the name of a file does not say what to write. `endings` are the endings that do.
[[noreturn]] inline void throw_unknown_ending(std::string const& path, std::string_view endings,
                                              std::string_view function) {
  throw file_error("E5051", std::string(function) + ": cannot tell from the name '" + path +
                                "' what to write; it ends in " + std::string(endings));
}

using diagnostics::character_length;

/// U+FFFD, which stands for bytes that are no character.
inline constexpr std::string_view no_character = "\xef\xbf\xbd";

/// A text that grows.
class text_writer {
 public:
  text_writer& operator<<(std::string_view text) {
    text_.append(text);
    return *this;
  }
  text_writer& operator<<(char const* text) { return *this << std::string_view(text); }
  text_writer& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }
  text_writer& operator<<(long long number) {
    text_ += std::to_string(number);
    return *this;
  }
  text_writer& operator<<(int number) { return *this << static_cast<long long>(number); }
  /// Appends a number with at most one digit after the point: coordinates need no more.
  text_writer& operator<<(double number) {
    auto const tenths = static_cast<long long>(number * 10 + (number < 0 ? -0.5 : 0.5));
    if (tenths < 0) *this << '-';
    auto const magnitude = tenths < 0 ? -tenths : tenths;
    *this << magnitude / 10;
    if (magnitude % 10 != 0) *this << '.' << magnitude % 10;
    return *this;
  }

  /// Appends a text escaped for an XML element, or for the value of an attribute between double quotes.
  text_writer& xml(std::string_view text) {
    while (!text.empty()) {
      std::size_t const length = character_length(text);
      if (length != 1)
        *this << (length == 0 ? no_character : text.substr(0, length));
      else
        switch (char const c = text[0]) {
          case '&': *this << "&amp;"; break;
          case '<': *this << "&lt;"; break;
          case '>': *this << "&gt;"; break;
          case '"': *this << "&quot;"; break;
          default:
            if (is_control(c))
              *this << no_character;
            else
              *this << c;
        }
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return *this;
  }

  /// Appends a text between double quotes, escaped for JSON and DOT.
  text_writer& quoted(std::string_view text) {
    *this << '"';
    while (!text.empty()) {
      std::size_t const length = character_length(text);
      if (length != 1 || is_control(text[0])) {
        *this << (length < 2 ? no_character : text.substr(0, length));
      } else {
        if (text[0] == '"' || text[0] == '\\') *this << '\\';
        *this << text[0];
      }
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return *this << '"';
  }

  [[nodiscard]] std::string_view view() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

  std::string text_;
};

/// "1,234,567".
[[nodiscard]] inline std::string grouped_digits(std::int64_t number) {
  std::string text = std::to_string(number);
  std::size_t const first = number < 0 ? 1 : 0;
  for (std::size_t place = text.size(); place > first + 3;) text.insert(place -= 3, 1, ',');
  return text;
}

/// "1 tile", "1,472 tiles".
[[nodiscard]] inline std::string counted(std::int64_t number, std::string_view noun, std::string_view plural = "s") {
  return grouped_digits(number) + " " + std::string(noun) + (number == 1 ? "" : std::string(plural));
}

/// A number with at most three digits, no zeros at the end of a fraction: "0.12", "1.5", "46.7", "1234". Numbers that
/// are not finite are "-".
[[nodiscard]] inline std::string three_digits(double number) {
  if (!(number > -9e15 && number < 9e15)) return "-";
  std::string const sign = number < 0 ? "-" : "";
  if (number < 0) number = -number;
  int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  auto scaled = static_cast<std::int64_t>(number * (decimals == 2 ? 100 : decimals == 1 ? 10 : 1) + 0.5);
  for (; decimals > 0 && scaled % 10 == 0; --decimals) scaled /= 10;
  std::string text = std::to_string(scaled);
  if (decimals > 0) {
    if (text.size() <= static_cast<std::size_t>(decimals))
      text.insert(0, static_cast<std::size_t>(decimals) + 1 - text.size(), '0');
    text.insert(text.size() - static_cast<std::size_t>(decimals), 1, '.');
  }
  return (scaled == 0 ? "" : sign) + text;
}

/// A number in the largest of `count` units, each `base` times the one before, of which there is at least one.
[[nodiscard]] inline std::string with_unit(double number, double base, std::string_view const* units, int count) {
  int unit = 0;
  double const magnitude = number < 0 ? -number : number;
  double limit = base - 0.5;  // smaller numbers are not rounded up to the next unit
  double scale = 1;
  while (unit + 1 < count && magnitude >= limit * scale) {
    scale *= base;
    ++unit;
  }
  auto const name = units[unit];
  return three_digits(number / scale) + (name.empty() ? "" : " ") + std::string(name);
}

/// "0 B", "624 KiB", "1.5 MiB".
[[nodiscard]] inline std::string bytes_text(std::int64_t bytes) {
  static constexpr std::string_view units[]{"B", "KiB", "MiB", "GiB", "TiB"};
  return with_unit(static_cast<double>(bytes), 1024, units, 5);
}
/// "950", "12.3 k", "4.1 G".
[[nodiscard]] inline std::string count_text(double count) {
  static constexpr std::string_view units[]{"", "k", "M", "G", "T", "P"};
  return with_unit(count, 1000, units, 6);
}
/// A rate with all of its digits before the point up to a million: "5.2", "1,802", "12.3 M".
[[nodiscard]] inline std::string rate_text(double rate) {
  return rate >= 999.5 && rate < 999'999 ? grouped_digits(static_cast<std::int64_t>(rate + 0.5)) : count_text(rate);
}
/// "1.33 GHz", "0 Hz".
[[nodiscard]] inline std::string count_text(double count, std::string_view unit) {
  auto const text = count_text(count);
  return text + (text.find(' ') == std::string::npos ? " " : "") + std::string(unit);
}
/// "5.3 ms", "12 s".
[[nodiscard]] inline std::string seconds_text(double seconds) {
  if (seconds >= 1 || seconds <= -1) return three_digits(seconds) + " s";
  static constexpr std::string_view units[]{"ns", "\xc2\xb5s", "ms", "s"};
  return with_unit(seconds * 1e9, 1000, units, 4);
}
/// "46.7 %" of a share of 0.467.
[[nodiscard]] inline std::string percent_text(double share) {
  double const percent = 100 * share;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (!(percent > -1e6 && percent < 1e6)) return "-";
  auto const tenths = static_cast<long long>(percent * 10 + (percent < 0 ? -0.5 : 0.5));
  auto const text = three_digits(static_cast<double>(tenths) / 10);
  return text + " %";
}

/// `part` / `whole`; 0 if `whole` is 0.
[[nodiscard]] inline double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// The distance of an axis' ticks, so that there are about `count` of them up to `most`: 1, 2 or 5 times a power of
/// ten, or a power of two where the axis counts bytes. At least 1.
[[nodiscard]] constexpr std::int64_t tick_distance(std::int64_t most, int count, bool bytes) {
  std::int64_t distance = 1;
  for (int i = 0; most / distance > count; ++i)
    distance = bytes ? distance * 2 : i % 3 == 1 ? distance / 2 * 5 : distance * 2;
  return distance;
}
static_assert(tick_distance(1472, 8, false) == 200 && tick_distance(90, 5, false) == 20);
static_assert(tick_distance(638'976, 5, true) == 131'072 && tick_distance(0, 5, true) == 1);

/// Writes events, one per line, each in a row (`tid`) of a process (`pid`).
class trace_writer {
 public:
  /// Begins a trace. `about` are the members of the object `otherData`.
  explicit trace_writer(std::string_view about) {
    text_ << "{\"displayTimeUnit\": \"ns\", \"otherData\": {" << about << "}, \"traceEvents\": [";
  }

  void name_process(int process, int row, std::string_view name) { this->name("process_name", process, row, name); }
  /// Names a row. Rows stand in the order of their numbers.
  void name_row(int process, int row, std::string_view name) {
    this->name("thread_name", process, row, name);
    begin(process, row, "thread_sort_index", "M") << ", \"args\": {\"sort_index\": " << row << "}}";
  }

  /// Begins an event; the caller appends `, "args": {...}}`.
  text_writer& event(int process, int row, std::string_view name, std::string_view category, std::int64_t begin_ps,
                     std::int64_t duration_ps) {
    begin(process, row, name, "X") << ", \"cat\": ";
    text_.quoted(category) << ", \"ts\": ";
    microseconds(begin_ps);
    text_ << ", \"dur\": ";
    microseconds(duration_ps);
    return text_;
  }

  [[nodiscard]] std::string end() {
    text_ << "\n]}\n";
    return text_.take();
  }

 private:
  void name(char const* what, int process, int row, std::string_view value) {
    begin(process, row, what, "M") << ", \"args\": {\"name\": ";
    text_.quoted(value) << "}}";
  }
  text_writer& begin(int process, int row, std::string_view name, char const* phase) {
    text_ << (first_ ? "\n" : ",\n") << "{\"name\": ";
    first_ = false;
    return text_.quoted(name) << ", \"ph\": \"" << phase << "\", \"pid\": " << process << ", \"tid\": " << row;
  }
  /// Appends microseconds, the format's unit. Nanoseconds follow the point, and picoseconds if there are any.
  void microseconds(std::int64_t picoseconds) {
    if (picoseconds < 0) picoseconds = 0;
    text_ << static_cast<long long>(picoseconds / 1'000'000) << '.';
    auto const rest = picoseconds % 1'000'000;
    int const digits = rest % 1000 == 0 ? 3 : 6;
    std::int64_t place = 100'000;
    for (int i = 0; i < digits; ++i, place /= 10) text_ << static_cast<int>(rest / place % 10);
  }

  text_writer text_;
  bool first_ = true;
};

}  // namespace stagecraft::reports
