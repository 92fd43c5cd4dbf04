// SPDX-License-Identifier: BSD-3-Clause
// Converts numbers of files and texts to narrower types: a finite number that would become an infinity is refused, and
// one that is too small becomes zero. All readers narrow here.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/io/element_type.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace stagecraft::io {

/// True if `value` is a number that can be written to an element of `type`, with rounding to the nearest: integers are
/// whole and in range, booleans are 0 or 1, a finite number stays finite. Only floating-point types hold NaN and
/// infinities.
[[nodiscard]] constexpr bool can_hold(element_type type, double value) noexcept {
  bool const is_finite = value >= -std::numeric_limits<double>::max() && value <= std::numeric_limits<double>::max();
  auto const below = [&](double end) { return !is_finite || (value < end && value > -end); };
  auto const whole = [&](double least, double end) {
    return value >= least && value < end && value == static_cast<double>(static_cast<std::int64_t>(value));
  };
  switch (type) {
    case element_type::float64: return true;
    case element_type::float32: return below(tracing::end_of_numbers(dtype::float32));
    case element_type::float16: return below(tracing::end_of_numbers(dtype::float16));
    case element_type::bfloat16: return below(tracing::end_of_numbers(dtype::bfloat16));
    case element_type::int64: return whole(-0x1p63, 0x1p63);
    case element_type::uint64:  // doubles of this size have no fraction
      return whole(0, 0x1p63) || (value >= 0x1p63 && value < 0x1p64);
    case element_type::int32: return whole(-0x1p31, 0x1p31);
    case element_type::uint32: return whole(0, 0x1p32);
    case element_type::int16: return whole(-0x1p15, 0x1p15);
    case element_type::uint16: return whole(0, 0x1p16);
    case element_type::int8: return whole(-0x1p7, 0x1p7);
    case element_type::uint8: return whole(0, 0x1p8);
    case element_type::boolean: return value == 0 || value == 1;
  }
  return false;
}

/// True for a finite double that is infinite as a float.
[[nodiscard]] constexpr bool overflows_float(double value) noexcept { return !can_hold(element_type::float32, value); }

/// The shortest text that denotes this number.
[[nodiscard]] inline std::string text_of_number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// The place of element `index` in an array of this shape, "[1, 2]"; "" for a single number.
template <class Shape>
[[nodiscard]] std::string place_text(Shape const& shape, std::size_t index) {
  std::string text;
  for (auto axis = shape.end(); axis != shape.begin();) {
    auto const length = static_cast<std::size_t>(*--axis);
    text = std::to_string(length == 0 ? 0 : index % length) + (text.empty() ? "" : ", ") + text;
    if (length != 0) index /= length;
  }
  return text.empty() ? text : "[" + text + "]";
}

/// Throws file_error E5205. `where` names the file, the tensor and the element.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_number(std::string const& where, std::string const& value,
                                                                 element_type type = element_type::float32) {
  throw file_error("E5205", where + " is " + value + ", which is no number of type " +
                                std::string(facts_of(type).name) +
                                (type == element_type::float32 ? ", of which the largest is 3.4028235e+38" : ""));
}

/// A double as a float, rounded to the nearest. `where()` names the number in E5205, which it throws if the number is
/// finite and beyond float32.
template <class Where>
[[nodiscard]] float narrowed(double value, Where const& where) {
  if (overflows_float(value)) [[unlikely]]
    refuse_number(where(), text_of_number(value));
  return static_cast<float>(value);
}

/// True if a decimal number that a double cannot hold is too small for it, rather than too large.
[[nodiscard]] constexpr bool is_below_double(std::string_view text) noexcept {
  constexpr std::int64_t most = 1'000'000'000'000;  // larger exponents are treated as this one
  std::int64_t magnitude = 0, exponent = 0;         // magnitude: digits before the point, less zeros after it
  bool has_point = false, has_digit = false, is_negative = false;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      has_point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      has_digit = has_digit || text[i] != '0';
      if (has_point && !has_digit) --magnitude;
      if (!has_point && has_digit) ++magnitude;
    }
  }
  for (++i; i < text.size(); ++i) {
    if (text[i] == '-') is_negative = true;
    if (text[i] >= '0' && text[i] <= '9' && exponent < most) exponent = exponent * 10 + (text[i] - '0');
  }
  return magnitude + (is_negative ? -exponent : exponent) < 0;
}

/// Reads a number as std::from_chars does, but a number that is too small becomes zero: `ec` is result_out_of_range
/// only for a number that is too large.
inline std::from_chars_result read_number(char const* first, char const* last, double& to) noexcept {
  auto result = std::from_chars(first, last, to);
  if (result.ec == std::errc::result_out_of_range &&
      is_below_double({first, static_cast<std::size_t>(result.ptr - first)})) {
    to = *first == '-' ? -0.0 : 0.0;
    result.ec = {};
  }
  return result;
}
inline std::from_chars_result read_number(char const* first, char const* last, float& to) noexcept {
  auto result = std::from_chars(first, last, to);
  if (result.ec != std::errc::result_out_of_range) return result;
  double wide = 0;  // as a float, 1e-50 would be out of range, too
  result = read_number(first, last, wide);
  if (result.ec == std::errc() && overflows_float(wide)) result.ec = std::errc::result_out_of_range;
  if (result.ec == std::errc()) to = static_cast<float>(wide);
  return result;
}

}  // namespace stagecraft::io
