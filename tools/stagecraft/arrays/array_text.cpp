// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/array_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace stagecraft::tool {

namespace {

constexpr int precision = 8;
constexpr std::size_t line_width = 75;
constexpr std::int64_t threshold = 1000, edge_items = 3;

std::string shortest(float value, std::chars_format format) {
  char text[128];
  auto const end = std::to_chars(text, text + sizeof text, value, format).ptr;
  return {text, end};
}
std::string rounded(float value, std::chars_format format, int digits) {
  char text[128];
  auto const end = std::to_chars(text, text + sizeof text, value, format, digits).ptr;
  return {text, end};
}
void remove_zeros(std::string& text) {
  while (text.ends_with('0')) text.pop_back();
}

/// The parts of a number before and after the point, "-12" and "25" for -12.25; at most `precision` digits after the
/// point.
struct parts {
  std::string whole, fraction, exponent;
};
parts positional(float value) {
  auto text = shortest(value, std::chars_format::fixed);
  auto point = text.find('.');
  if (point != std::string::npos && text.size() - point - 1 > precision) {
    text = rounded(value, std::chars_format::fixed, precision);
    point = text.find('.');
  }
  if (point == std::string::npos) return {text, "", ""};
  parts result{text.substr(0, point), text.substr(point + 1), ""};
  remove_zeros(result.fraction);
  return result;
}
parts scientific(float value) {
  auto text = shortest(value, std::chars_format::scientific);
  if (auto const e = text.find('e'), point = text.find('.'); point != std::string::npos && e - point - 1 > precision)
    text = rounded(value, std::chars_format::scientific, precision);
  auto const e = text.find('e'), point = text.find('.');
  parts result{text.substr(0, std::min(e, point)),
               point == std::string::npos ? "" : text.substr(point + 1, e - point - 1), text.substr(e)};
  remove_zeros(result.fraction);
  return result;
}

/// The format of the numbers of one array, which have one width.
class number_format {
 public:
  explicit number_format(std::vector<float> const& values) {
    float largest = 0, smallest = 0;
    bool has_any = false;
    for (float const value : values)
      if (std::isfinite(value) && value != 0) {
        float const size = std::abs(value);
        largest = has_any ? std::max(largest, size) : size;
        smallest = has_any ? std::min(smallest, size) : size;
        has_any = true;
      }
    has_exponent_ = has_any && (largest >= 1e8F || smallest < 1e-4F || largest / smallest > 1000.0F);
    std::size_t special = 0;
    for (float const value : values)
      if (std::isfinite(value)) {
        auto const found = has_exponent_ ? scientific(value) : positional(value);
        left_ = std::max(left_, found.whole.size());
        right_ = std::max(right_, found.fraction.size());
        exponent_ = std::max(exponent_, found.exponent.size());
      } else {
        special = std::max(special, special_text(value).size());
      }
    if (special > left_ + 1 + right_ + exponent_) left_ = special - 1 - right_ - exponent_;
  }

  [[nodiscard]] std::string operator()(float value) const {
    auto const width = left_ + 1 + right_ + exponent_;
    if (!std::isfinite(value)) {
      auto const text = special_text(value);
      return std::string(width - text.size(), ' ') + text;
    }
    // If there are exponents, all numbers have the same number of digits; otherwise they are padded with spaces.
    if (has_exponent_) {
      auto const text = rounded(value, std::chars_format::scientific, static_cast<int>(right_));
      auto const e = text.find('e'), whole = std::min(e, text.find('.'));
      return std::string(left_ - whole, ' ') + text.substr(0, whole) + "." +
             (right_ == 0 ? "" : text.substr(whole + 1, right_)) + text.substr(e);
    }
    auto found = positional(value);
    found.fraction.append(right_ - found.fraction.size(), ' ');
    return std::string(left_ - found.whole.size(), ' ') + found.whole + "." + found.fraction;
  }

 private:
  static std::string special_text(float value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

  bool has_exponent_ = false;
  std::size_t left_ = 0, right_ = 0, exponent_ = 0;
};

class array_writer {
 public:
  array_writer(std::vector<std::int64_t> const& shape, std::vector<float> const& values)
      : shape_(shape),
        values_(values),
        summarizes_(static_cast<std::int64_t>(values.size()) > threshold),
        format_(shown()) {}

  [[nodiscard]] std::string write() const { return write(0, 0, " ", line_width); }

 private:
  /// The printed places along an axis; -1 stands for those that are left out.
  [[nodiscard]] std::vector<std::int64_t> places(std::size_t axis) const {
    std::vector<std::int64_t> result;
    auto const length = shape_[axis];
    bool const cuts = summarizes_ && length > 2 * edge_items;
    for (std::int64_t i = 0; i < length; ++i) {
      if (cuts && i == edge_items) {
        result.push_back(-1);
        i = length - edge_items;
      }
      result.push_back(i);
    }
    return result;
  }
  [[nodiscard]] std::vector<float> shown() const {
    std::vector<float> result;
    collect(0, 0, result);
    return result;
  }
  void collect(std::size_t axis, std::size_t index, std::vector<float>& to) const {
    if (axis == shape_.size()) {
      to.push_back(values_[index]);
      return;
    }
    for (auto const place : places(axis))
      if (place >= 0)
        collect(axis + 1, index * static_cast<std::size_t>(shape_[axis]) + static_cast<std::size_t>(place), to);
  }

  [[nodiscard]] std::string write(std::size_t axis, std::size_t index, std::string const& indent,
                                  std::size_t width) const {
    auto const left = shape_.size() - axis;
    if (left == 0) return format_(values_[index]);
    auto const inner = [&](std::int64_t place) {
      return write(axis + 1, index * static_cast<std::size_t>(shape_[axis]) + static_cast<std::size_t>(place),
                   indent + " ", width - 1);
    };
    std::string text;
    if (left == 1) {
      auto const most = width - 1;  // for "]"
      std::string line = indent;
      bool is_first = true;
      for (auto const place : places(axis)) {
        auto const word = place < 0 ? "..." : inner(place);
        if (line.size() + word.size() + (is_first ? 0 : 1) > most && line.size() > indent.size()) {
          text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
          line = indent;
          is_first = true;
        }
        line += (is_first ? "" : " ") + word;
        is_first = false;
      }
      text += line;
    } else {
      text = indent;
      bool is_first = true;
      for (auto const place : places(axis)) {
        if (!is_first) text += std::string(left - 1, '\n') + indent;
        text += place < 0 ? "..." : inner(place);
        is_first = false;
      }
    }
    return "[" + text.substr(indent.size()) + "]";
  }

  std::vector<std::int64_t> const& shape_;
  std::vector<float> const& values_;
  bool summarizes_;
  number_format format_;
};

}  // namespace

std::string array_text(std::vector<std::int64_t> const& shape, std::vector<float> const& values) {
  if (shape.empty()) {  // a single float32
    auto const text = values.empty() ? "" : shortest(values[0], std::chars_format::general);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return values.empty() ? "[]" : array_writer(shape, values).write();
}

}  // namespace stagecraft::tool
