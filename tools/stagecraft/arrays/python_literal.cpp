// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/python_literal.hpp"

#include "arrays/numpy_arrays.hpp"
#include "arrays/numpy_functions.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace stagecraft::tool {

namespace {

using kind = python_value::kind;

constexpr int deepest = 64;

class reader {
 public:
  reader(std::string const& text, numpy_random& random) : text_(text), random_(random) {}

  python_value read() {
    try {
      auto value = sum();
      skip();
      if (at_ != text_.size()) fail();
      return value;
    } catch (expression_problem const& why) {
      throw file_error("E5095", "Expression \"" + text_ + "\" is not a valid python literal." +
                                    (why.text.empty() ? "" : " ") + why.text);
    }
  }

 private:
  [[noreturn]] static void fail(std::string text = {}) { throw expression_problem{std::move(text)}; }

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
      if (next() == '*' && !begins("**")) {
        ++at_;
        value = combine(value, factor(), [](double a, double b) { return a * b; });
      } else if (begins("//")) {
        at_ += 2;
        value = combine(value, factor(), python_floor_divide);
      } else if (takes('/')) {
        value = combine(value, factor(), [](double a, double b) { return a / b; });
      } else if (takes('%')) {
        value = combine(value, factor(), python_remainder);
      } else {
        return value;
      }
    }
  }
  python_value factor() {
    if (++depth_ > deepest) fail();
    auto value = takes('-')   ? combine(number_value(0), factor(), [](double, double b) { return -b; })
                 : takes('+') ? factor()
                              : power();
    --depth_;
    return value;
  }
  python_value power() {
    auto value = with_methods(primary());
    if (!begins("**")) return value;
    at_ += 2;
    return combine(value, factor(), [](double a, double b) { return std::pow(a, b); });
  }
  [[nodiscard]] bool begins(std::string_view what) {
    skip();
    return std::string_view(text_).substr(at_).starts_with(what);
  }

  python_value with_methods(python_value value) {
    for (;;) {
      if (next() == '[') {
        value = indexed(std::move(value));
      } else if (next() == '.') {
        auto const name = word();
        if (name == ".T")
          value = call_method(std::move(value), "transpose", {});
        else
          value = call_method(std::move(value), name.substr(std::min<std::size_t>(1, name.size())), arguments());
      } else {
        return value;
      }
    }
  }
  /// Adds axes: `[np.newaxis, ...]`, `[:, None]`.
  python_value indexed(python_value value) {
    if (value.what != kind::array || value.is_sequence) fail("Lists and parts of arrays are not taken apart.");
    expect('[');
    std::vector<std::int64_t> shape;
    std::size_t axis = 0, kept = 0;
    bool has_rest = false;
    std::vector<char> what;
    do {
      auto const name = next() == ':' ? ":" : word();
      if (name == ":") ++at_;
      if (name == "None" || name == "np.newaxis" || name == "numpy.newaxis")
        what.push_back('n');
      else if (name == ":" && (next() == ',' || next() == ']'))
        what.push_back(':'), ++kept;
      else if (name == "..." && !std::exchange(has_rest, true))
        what.push_back('.');
      else
        fail("In brackets after an array, np.newaxis, None, ':' and '...' are taken; no parts of it.");
    } while (takes(','));
    expect(']');
    auto const rank = value.shape.size();
    if (kept > rank) fail();
    for (char const each : what) {
      if (each == 'n') shape.push_back(1);
      if (each == ':') shape.push_back(value.shape[axis++]);
      for (std::size_t left = each == '.' ? rank - kept : 0; left > 0; --left) shape.push_back(value.shape[axis++]);
    }
    while (axis < rank) shape.push_back(value.shape[axis++]);
    return reshaped(value, shape);
  }

  python_value primary() {
    char const c = next();
    if (c == '[' || c == '(') return list(c == '[' ? ']' : ')');
    if (c == '{') return dictionary();
    if (c == '\'' || c == '"') return named(kind::text, quoted());
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return numeral();
    auto const name = word();
    if (name == "True" || name == "False") return number_value(name == "True" ? 1 : 0);
    if (name == "None") return named(kind::none, "");
    if ((name == "float" || name == "int" || name == "bool") && next() != '(') return named(kind::type, name);
    for (std::string const prefix : {"np.", "numpy."})
      if (name.starts_with(prefix)) return of_numpy(name.substr(prefix.size()));
    fail();
  }
  static python_value named(kind what, std::string text) {
    python_value result;
    result.what = what;
    result.text = std::move(text);
    return result;
  }

  /// Reads what follows `np.`: a constant, a type, or a call of a function.
  python_value of_numpy(std::string const& name) {
    if (auto const constant = numpy_constant(name)) return number_value(*constant);
    if (next() != '(') return named(kind::type, name);
    if (name != "random.RandomState") return call_numpy(name, arguments(), random_);
    auto const given = arguments();
    auto const method = word();
    if (given.in_order.size() != 1 || !given.by_name.empty() || !method.starts_with('.')) fail();
    auto const seed = scalar_of(given.in_order[0]);
    if (!(seed >= 0 && seed < 0x1p32) || seed != std::floor(seed))
      fail("A seed is a whole number from 0 to 2**32 - 1.");
    numpy_random own(static_cast<std::uint32_t>(seed));
    return call_numpy("random" + method, arguments(), own);
  }

  python_value numeral() {
    double value = 0;
    auto const [end, problem] = io::read_number(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem != std::errc()) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    return number_value(value);
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
    return sequence_of(std::move(items));
  }
  python_value dictionary() {
    auto result = named(kind::dictionary, "");
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

  /// Reads arguments from the opening parenthesis to the closing one.
  call_arguments arguments() {
    expect('(');
    call_arguments given;
    while (!takes(')')) {
      skip();
      auto const begin = at_;
      auto const name = word();
      if (!name.empty() && takes('=')) {
        given.by_name.emplace_back(name, sum());
      } else {
        at_ = begin;
        if (!given.by_name.empty()) fail();
        given.in_order.push_back(sum());
      }
      if (!takes(',')) {
        expect(')');
        break;
      }
    }
    return given;
  }

  std::string const& text_;
  numpy_random& random_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

python_value read_python(std::string const& text, numpy_random& random) { return reader(text, random).read(); }

std::string python_type(python_value const& value, std::string const& source) {
  auto const word = [&] {
    switch (value.what) {
      case kind::dictionary: return "dict";
      case kind::text: return "str";
      case kind::list: return source.starts_with('(') ? "tuple" : "list";
      case kind::type: return "type";
      case kind::none: return "NoneType";
      case kind::array: break;
    }
    if (!value.shape.empty()) return !value.is_sequence ? "numpy.ndarray" : source.starts_with('(') ? "tuple" : "list";
    if (source == "True" || source == "False") return "bool";
    return source.find_first_of(".eE/") == std::string::npos ? "int" : "float";
  };
  return std::string("<class '") + word() + "'>";
}

}  // namespace stagecraft::tool
