// SPDX-License-Identifier: BSD-3-Clause
#include "keras/option_values.hpp"

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <array>
#include <cmath>

namespace stagecraft::tool {

/// The largest whole number that an option may have: sums and small multiples of it are ints in the layers' rules.
constexpr double largest_option = 1 << 27;

std::vector<long long> whole_numbers(json const& value) {
  std::vector<long long> result;
  auto const add = [&](json const& number) {
    auto const found = number.is_number() ? number.get<double>() : 0.5;  // an int is a double exactly
    if (!(std::fabs(found) <= largest_option) || found != std::trunc(found)) throw unsupported("is " + value.dump());
    result.push_back(static_cast<long long>(found));
  };
  if (!value.is_array()) {
    add(value);
    return result;
  }
  for (auto const& each : value) add(each);
  return result;
}

std::string snake_case_of(std::string const& class_name) {
  return std::string(stagecraft::detail::snake_case(class_name).view());
}

std::pair<std::string, json> class_and_config(json const& value) {
  if (value.is_string()) return {value.get<std::string>(), json::object()};
  if (value.is_object() && value.contains("class_name") && value["class_name"].is_string()) {
    auto config = value.value("config", json::object());
    if (config.is_string()) return {config.get<std::string>(), json::object()};  // a function under its name
    if (config.is_object()) return {value["class_name"].get<std::string>(), std::move(config)};
  }
  throw unsupported("is " + value.dump().substr(0, 200));
}

literal size_literal(std::vector<long long> const& each) {
  bool alike = true;
  source_text text;
  for (auto const length : each) {
    alike = alike && length == each.front();
    text += (text.empty() ? "{"_cpp : ", "_cpp) + number_text(length);
  }
  if (alike) return {literal::kinds::integer, number_text(each.front())};
  return {literal::kinds::fixed, text + "}"};
}

namespace {

std::vector<long long> numbers_of(json const& value, std::size_t count) {
  auto each = whole_numbers(value);
  if (each.size() == 1) each.resize(count, each.front());
  if (each.size() != count) throw unsupported("is " + value.dump());
  return each;
}

int as_int(long long number) { return static_cast<int>(number); }

/// Reads a number as a float; infinite ones are refused, since C++ has no literal for them.
float as_float(json const& value) {
  if (!value.is_number() || io::overflows_float(value.get<double>()))
    throw unsupported("is " + value.dump().substr(0, 200));
  return value.get<float>();
}

/// Reads numbers of cells before and after, along each axis: ((1, 1), (2, 2)), (1, 2) or 1.
std::vector<border> borders_of(json const& value, std::size_t axes) {
  std::vector<border> result;
  if (value.is_array() && value.size() == axes && !value.empty() && value.front().is_array()) {
    for (auto const& pair : value) {
      auto const each = numbers_of(pair, 2);
      result.push_back(border(as_int(each[0]), as_int(each[1])));
    }
    return result;
  }
  for (auto const number : numbers_of(value, axes)) result.push_back(border(as_int(number), as_int(number)));
  return result;
}

literal border_literal(std::vector<border> const& each) {
  bool even = true;
  std::vector<long long> sizes;
  source_text text;
  for (auto const& along : each) {
    even = even && along.before == along.after;
    sizes.push_back(along.before);
    text += (text.empty() ? "{{"_cpp : ", {"_cpp) + number_text(along.before) + ", " + number_text(along.after) + "}";
  }
  return even ? size_literal(sizes) : literal{literal::kinds::fixed, text + "}"};
}

}  // namespace

literal read_option(json const& value, bool& to) {
  if (!value.is_boolean()) throw unsupported("is " + value.dump());
  to = value.get<bool>();
  return {literal::kinds::fixed, to ? "true"_cpp : "false"_cpp};
}

literal read_option(json const& value, int& to) {
  auto const each = whole_numbers(value);
  if (each.size() != 1) throw unsupported("is " + value.dump());
  to = as_int(each.front());
  return {literal::kinds::integer, number_text(to)};
}

literal read_option(json const& value, float& to) {
  to = as_float(value);
  return {literal::kinds::real, number_text(to)};
}

literal read_option(json const& value, double& to) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) throw unsupported("is " + value.dump());
  to = value.get<double>();
  return {literal::kinds::real, number_text(to)};
}

literal read_option(json const& value, std::uint64_t& to) {
  if (!value.is_number_unsigned()) throw unsupported("is " + value.dump());
  to = value.get<std::uint64_t>();
  return {literal::kinds::fixed, number_text(to)};
}

literal read_option(json const& value, size_2d& to) {
  auto const each = numbers_of(value, 2);
  to = size_2d(as_int(each[0]), as_int(each[1]));
  return size_literal(each);
}

literal read_option(json const& value, size_3d& to) {
  auto const each = numbers_of(value, 3);
  to = size_3d(as_int(each[0]), as_int(each[1]), as_int(each[2]));
  return size_literal(each);
}

literal read_option(json const& value, shape& to) {
  auto const each = whole_numbers(value);
  if (each.empty() || each.size() > shape::max_rank) throw unsupported("is " + value.dump());
  literal result;
  to = shape();
  for (auto const length : each) {
    to.push_back(as_int(length));
    result.text += (result.text.empty() ? ""_cpp : ", "_cpp) + number_text(length);
  }
  if (each.size() == 1) result.kind = literal::kinds::integer;
  return result;
}

literal read_option(json const& value, fixed_name& to) {
  auto const text = value.is_string() ? value.get<std::string>() : "?";
  for (char const each : text)  // the letters become a literal of a program
    if (!((each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == ',' || each == '.' || each == '-' ||
          each == '>'))
      throw unsupported("is " + value.dump().substr(0, 200));
  to = fixed_name(text);
  if (to.view() != text) throw unsupported("is longer than " + std::to_string(to.view().size()) + " letters");
  return {literal::kinds::fixed, string_literal(text)};
}

literal read_option(json const& value, axis_list& to) {
  auto const each = whole_numbers(value);
  if (each.size() > axis_list::capacity) throw unsupported("is " + value.dump());
  to = axis_list::none();
  source_text text;
  for (auto const axis : each) {
    to.axes[to.count++] = as_int(axis);
    text += (text.empty() ? ""_cpp : ", "_cpp) + number_text(axis);
  }
  if (each.empty()) return {literal::kinds::fixed, "sc::axis_list::none()"_cpp};
  return {literal::kinds::fixed, each.size() == 1 ? text : "{" + text + "}"};
}

literal read_option(json const& value, bytes_from& to) {
  int least = 0;
  auto const number = read_option(value, least);
  to = bytes_from(least);
  return {literal::kinds::fixed, "sc::bytes_from("_cpp + number.text + ")"};
}

literal read_option(json const& value, number_list& to) {
  if (!value.is_number() && !value.is_array()) throw unsupported("is " + value.dump().substr(0, 200));
  to = {};
  source_text text;
  auto const add = [&](json const& number) {
    if (!number.is_number() || to.count == number_list::capacity)
      throw unsupported("is " + value.dump().substr(0, 200) + "; a list of numbers has at most " +
                        std::to_string(number_list::capacity));
    to.append(as_float(number));
    text += (text.empty() ? ""_cpp : ", "_cpp) + number_text(as_float(number));
  };
  if (value.is_array())
    for (auto const& each : value) add(each);
  else
    add(value);
  return {literal::kinds::fixed, "{" + text + "}"};
}

literal read_option(json const& value, border& to) {
  auto const each = numbers_of(value, 2);
  to = border(as_int(each[0]), as_int(each[1]));
  return size_literal(each);
}

literal read_option(json const& value, border_2d& to) {
  auto const each = borders_of(value, 2);
  to = border_2d(each[0], each[1]);
  return border_literal(each);
}

literal read_option(json const& value, border_3d& to) {
  auto const each = borders_of(value, 3);
  to = border_3d(each[0], each[1], each[2]);
  return border_literal(each);
}

literal read_option(json const& value, activation& to) {
  auto [name, config] = class_and_config(value.is_null() ? json("linear") : value);
  if (name == "silu") name = "swish";
  if (name == "relu6") {
    to = activations::relu(0, 6);
    return {literal::kinds::fixed, "sc::activations::relu(0, 6)"_cpp};
  }
  if (name == "leaky_relu") {  // as a function its slope is 0.2
    to = activations::relu(0.2F);
    return {literal::kinds::fixed, "sc::activations::relu(0.2F)"_cpp};
  }
  if (name == "gelu" && config.value("approximate", json()) == true) {
    to = activations::gelu(true);
    return {literal::kinds::fixed, "sc::activations::gelu(true)"_cpp};
  }
  if (name == "ReLU" || name == "ELU") {  // Keras writes a function with parameters as a layer
    auto const number = [&given = config](char const* key, float otherwise) {
      auto const found = given.value(key, json());
      if (found.is_null()) return otherwise;
      if (!found.is_number()) throw unsupported(std::string("has a ") + key + " that is no number");
      return as_float(found);
    };
    if (name == "ELU") {
      to = activations::elu(number("alpha", 1));
      return {literal::kinds::fixed, "sc::activations::elu(" + number_text(to.alpha) + ")"};
    }
    for (auto const* key : {"negative_slope", "max_value", "threshold"})
      if (number(key, 0) < 0) throw unsupported(std::string("has a ") + key + " that is negative, as in no ReLU");
    to = activations::relu(number("negative_slope", 0), number("max_value", -1), number("threshold", 0));
    return {literal::kinds::fixed, "sc::activations::relu(" + number_text(to.alpha) + ", " + number_text(to.max_value) +
                                       ", " + number_text(to.threshold) + ")"};
  }
  struct named_function {
    activation function;
    own_text written;
  };
  static constexpr std::array<named_function, 13> functions{{{linear, "sc::linear"},
                                                             {relu, "sc::relu"},
                                                             {softmax, "sc::softmax"},
                                                             {sigmoid, "sc::sigmoid"},
                                                             {tanh, "sc::tanh"},
                                                             {gelu, "sc::gelu"},
                                                             {swish, "sc::swish"},
                                                             {selu, "sc::selu"},
                                                             {elu, "sc::elu"},
                                                             {exponential, "sc::exponential"},
                                                             {softplus, "sc::softplus"},
                                                             {softsign, "sc::softsign"},
                                                             {hard_sigmoid, "sc::hard_sigmoid"}}};
  for (auto const& each : functions)
    if (name == each.function.name()) {
      to = each.function;
      return {literal::kinds::fixed, each.written};
    }
  throw unsupported("is " + name);
}

literal read_option(json const& value, initializer& to) {
  namespace all = initializers;
  // The default of Keras's add_weight, for biases as well.
  if (value.is_null()) return read_option({{"class_name", "GlorotUniform"}, {"config", json::object()}}, to);
  return read_one_of<all::zeros, all::ones, all::constant, all::random_normal, all::random_uniform,
                     all::truncated_normal, all::variance_scaling, all::glorot_normal, all::glorot_uniform,
                     all::he_normal, all::he_uniform, all::lecun_normal, all::lecun_uniform, all::orthogonal,
                     all::identity>(value, to, "initializers");
}

literal read_option(json const& value, regularizer& to) {
  if (value.is_null()) return {literal::kinds::fixed, "{}"_cpp};
  return read_one_of<regularizers::l1, regularizers::l2, regularizers::l1_l2>(value, to, "regularizers");
}

literal read_option(json const& value, constraint& to) {
  namespace all = constraints;
  if (value.is_null()) return {literal::kinds::fixed, "{}"_cpp};
  return read_one_of<all::max_norm, all::min_max_norm, all::non_neg, all::unit_norm, all::radial_constraint>(
      value, to, "constraints");
}

}  // namespace stagecraft::tool
