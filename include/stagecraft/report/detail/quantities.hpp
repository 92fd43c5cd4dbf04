// SPDX-License-Identifier: BSD-3-Clause
// Quantities as people read them: three digits and a unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::reports {

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

/// At most three digits, without zeros at the end of a fraction: "0.12", "1.5", "46.7", "1234". Numbers that are not
/// finite are "-".
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

/// In the largest of some units, each `base` times the one before, of which there is at least one.
[[nodiscard]] inline std::string with_unit(double number, double base, std::string_view const* units, int count) {
  int unit = 0;
  double const magnitude = number < 0 ? -number : number;
  double limit = base - 0.5;  // what is not rounded up to the next unit
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
/// With all of its digits before the point up to a million: "5.2", "1,802", "12.3 M".
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

/// `part` of `whole`, from 0 on; 0 where there is no whole.
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

}  // namespace stagecraft::reports
