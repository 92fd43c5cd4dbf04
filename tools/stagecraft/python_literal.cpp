// SPDX-License-Identifier: BSD-3-Clause
#include "python_literal.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <random>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

namespace {

using kind = python_value::kind;

/// What an expression may take: as much as a large batch of images.
constexpr std::int64_t most_numbers = std::int64_t{1} << 28;
constexpr int deepest = 64;

class reader {
 public:
  explicit reader(std::string const& text) : text_(text) {}

  python_value read() {
    auto value = sum();
    skip();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw file_error("E5095", "Expression \"" + text_ + "\" is not a valid python literal.");
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[nodiscard]] char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool takes(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!takes(c)) fail();
  }
  std::string word() {
    skip();
    auto const begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  static python_value number(double value) { return {kind::array, {}, {value}, {}, {}, {}}; }

  /// Elementwise; shapes are the same, or one of the two is a number. What Python does with lists, joining and
  /// repeating them, is not done.
  template <class Operation>
  python_value combine(python_value const& a, python_value const& b, Operation const& operation) const {
    if (a.what != kind::array || b.what != kind::array) fail();
    if (a.shape != b.shape && !a.shape.empty() && !b.shape.empty()) fail();
    if ((a.is_sequence || a.shape.empty()) && (b.is_sequence || b.shape.empty()) && (a.is_sequence || b.is_sequence))
      fail();
    auto result = a.shape.empty() ? b : a;
    for (std::size_t i = 0; i < result.numbers.size(); ++i)
      result.numbers[i] = operation(a.numbers[a.shape.empty() ? 0 : i], b.numbers[b.shape.empty() ? 0 : i]);
    result.is_sequence = false;
    return result;
  }

  python_value sum() {
    auto value = product();
    for (;;) {
      if (takes('+'))
        value = combine(value, product(), [](double a, double b) { return a + b; });
      else if (takes('-'))
        value = combine(value, product(), [](double a, double b) { return a - b; });
      else
        return value;
    }
  }
  python_value product() {
    auto value = factor();
    for (;;) {
      if (takes('*'))
        value = combine(value, factor(), [](double a, double b) { return a * b; });
      else if (takes('/'))
        value = combine(value, factor(), [](double a, double b) { return a / b; });
      else
        return value;
    }
  }
  python_value factor() {
    if (++depth_ > deepest) fail();
    auto value = takes('-')   ? combine(number(0), factor(), [](double, double b) { return -b; })
                 : takes('+') ? factor()
                              : with_methods(primary());
    --depth_;
    return value;
  }

  python_value with_methods(python_value value) {
    while (next() == '.') {
      auto const name = word();
      expect('(');
      auto const given = arguments(name == ".astype");
      if (name == ".reshape") {
        if (value.what != kind::array) fail();
        value = reshaped(value, given.size() == 1 ? shape_of(given[0]) : shape_of(as_array(given)));
      } else if (name != ".astype" || given.size() != 1 || value.what != kind::array) {
        fail();
      }
      value.is_sequence = false;
    }
    return value;
  }

  python_value primary() {
    char const c = next();
    if (c == '[' || c == '(') return list(c == '[' ? ']' : ')');
    if (c == '{') return dictionary();
    if (c == '\'' || c == '"') return {kind::text, {}, {}, quoted(), {}, {}};
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return numeral();
    auto const name = word();
    if (name == "True" || name == "False") return number(name == "True" ? 1 : 0);
    for (std::string const prefix : {"np.", "numpy."})
      if (name.starts_with(prefix)) return call(name.substr(prefix.size()));
    fail();
  }

  python_value numeral() {
    double value = 0;
    auto const [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem != std::errc()) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    return number(value);
  }
  std::string quoted() {
    char const quote = next();
    if (quote != '\'' && quote != '"') fail();
    ++at_;
    std::string result;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      result += text_[at_++];
    }
    expect(quote);
    return result;
  }

  python_value list(char end) {
    ++at_;
    std::vector<python_value> items;
    bool is_list = end == ']';
    while (!takes(end)) {
      items.push_back(sum());
      if (takes(',')) {
        is_list = true;
      } else {
        expect(end);
        break;
      }
    }
    if (!is_list && items.size() == 1) return items[0];
    return as_array(std::move(items));
  }
  python_value dictionary() {
    python_value result{kind::dictionary, {}, {}, {}, {}, {}};
    ++at_;
    while (!takes('}')) {
      auto key = quoted();
      expect(':');
      skip();
      auto const begin = at_;
      auto value = sum();
      result.dictionary.push_back({std::move(key), std::move(value), text_.substr(begin, at_ - begin)});
      if (!takes(',')) {
        expect('}');
        break;
      }
    }
    return result;
  }

  /// Arrays of one shape are an array with one axis more.
  python_value as_array(std::vector<python_value> items) const {
    bool const are_arrays =
        std::all_of(items.begin(), items.end(), [](auto const& item) { return item.what == kind::array; });
    if (!are_arrays) return {kind::list, {}, {}, {}, std::move(items), {}};
    python_value result;
    result.is_sequence = true;
    result.shape.push_back(static_cast<std::int64_t>(items.size()));
    if (!items.empty()) result.shape.insert(result.shape.end(), items[0].shape.begin(), items[0].shape.end());
    for (auto const& item : items) {
      if (item.shape != items[0].shape) fail();
      if (item.numbers.size() > static_cast<std::size_t>(most_numbers) - result.numbers.size()) fail();
      result.numbers.insert(result.numbers.end(), item.numbers.begin(), item.numbers.end());
    }
    return result;
  }

  /// Up to the closing parenthesis; a type such as np.float32 is read, and left out.
  std::vector<python_value> arguments(bool is_type = false) {
    std::vector<python_value> given;
    while (!takes(')')) {
      skip();
      auto const begin = at_;
      auto const name = word();
      if (takes('=') || is_type || is_type_name(name)) {
        if (!is_type && !is_type_name(name)) {
          if (name != "dtype") fail();
          if (char const c = next(); c == '\'' || c == '"')
            (void)quoted();
          else
            (void)word();
        } else if (name.empty()) {
          (void)quoted();
        }
        if (is_type) given.push_back(number(0));
      } else {
        at_ = begin;
        given.push_back(sum());
      }
      if (!takes(',')) {
        expect(')');
        break;
      }
    }
    return given;
  }
  static bool is_type_name(std::string_view name) {
    for (std::string_view const type : {"float32", "float64", "float16", "int32", "int64", "uint8", "bool_"})
      if (name == "np." + std::string(type) || name == "numpy." + std::string(type)) return true;
    return name == "float" || name == "int";
  }

  std::vector<std::int64_t> shape_of(python_value const& value) const {
    if (value.what != kind::array || value.shape.size() > 1) fail();
    std::vector<std::int64_t> shape;
    for (double const length : value.numbers) {
      if (length != std::floor(length) || std::abs(length) > 1e9) fail();
      shape.push_back(static_cast<std::int64_t>(length));
    }
    return shape;
  }
  std::int64_t size_of(std::vector<std::int64_t> const& shape) const {
    std::int64_t size = 1;
    for (auto const length : shape) {
      if (length < 0 || (length > 0 && size > most_numbers / length)) fail();
      size *= length;
    }
    return size;
  }
  python_value reshaped(python_value const& value, std::vector<std::int64_t> shape) const {
    auto const size = static_cast<std::int64_t>(value.numbers.size());
    if (auto const open = std::find(shape.begin(), shape.end(), -1); open != shape.end()) {
      *open = 1;
      auto const others = size_of(shape);
      if (others == 0 || size % others != 0) fail();
      *open = size / others;
    }
    if (size_of(shape) != size) fail();
    auto result = value;
    result.shape = std::move(shape);
    result.is_sequence = false;
    return result;
  }
  python_value filled(std::vector<std::int64_t> const& shape, double value) const {
    auto const size = size_of(shape);
    return {kind::array, shape, std::vector<double>(static_cast<std::size_t>(size), value), {}, {}, {}};
  }

  python_value call(std::string const& name) {
    expect('(');
    auto const given = arguments();
    auto const count = given.size();
    auto const scalar = [&](std::size_t place) {
      if (given[place].what != kind::array || !given[place].shape.empty()) fail();
      return given[place].numbers[0];
    };
    if (name == "array" && count == 1 && given[0].what == kind::array) {
      auto result = given[0];
      result.is_sequence = false;
      return result;
    }
    if ((name == "ones" || name == "zeros") && count == 1) return filled(shape_of(given[0]), name == "ones" ? 1 : 0);
    if (name == "full" && count == 2) return filled(shape_of(given[0]), scalar(1));
    if (name == "arange" && count >= 1 && count <= 3) {
      double const first = count == 1 ? 0 : scalar(0), end = scalar(count == 1 ? 0 : 1);
      double const step = count == 3 ? scalar(2) : 1;
      double const length = std::max(0.0, std::ceil((end - first) / step));
      if (step == 0 || !(length <= static_cast<double>(most_numbers))) fail();
      auto result = filled({static_cast<std::int64_t>(length)}, 0);
      for (std::size_t i = 0; i < result.numbers.size(); ++i) result.numbers[i] = first + static_cast<double>(i) * step;
      return result;
    }
    if (name == "linspace" && count == 3) {
      auto result = filled(shape_of(given[2]), 0);
      auto const last = static_cast<double>(result.numbers.size()) - 1;
      for (std::size_t i = 0; i < result.numbers.size(); ++i)
        result.numbers[i] = last < 1 ? scalar(0) : scalar(0) + (scalar(1) - scalar(0)) * static_cast<double>(i) / last;
      return result;
    }
    if (name == "random.rand") {
      auto result = filled(shape_of(as_array(given)), 0);
      std::mt19937_64 random(std::random_device{}());
      for (auto& value : result.numbers) value = std::uniform_real_distribution<double>()(random);
      return result;
    }
    fail();
  }

  std::string const& text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

python_value read_python(std::string const& text) { return reader(text).read(); }

std::string python_type(python_value const& value, std::string const& source) {
  auto const word = [&] {
    switch (value.what) {
      case kind::dictionary: return "dict";
      case kind::text: return "str";
      case kind::list: return source.starts_with('(') ? "tuple" : "list";
      case kind::array: break;
    }
    if (!value.shape.empty()) return !value.is_sequence ? "numpy.ndarray" : source.starts_with('(') ? "tuple" : "list";
    if (source == "True" || source == "False") return "bool";
    return source.find_first_of(".eE/") == std::string::npos ? "int" : "float";
  };
  return std::string("<class '") + word() + "'>";
}

}  // namespace stagecraft::tool
