// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that compute each number by itself: of one tensor, and of several with broadcasting.
#include "operation_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// Converts an operation on several numbers or truth values that returns one number.
onnx_converter on_each(std::size_t count, own_text word, operation_code const& code,
                       element_kind made = element_kind::real, bool keeps_kind = false) {
  return [=](trace& to, onnx_node const& node) {
    auto y = broadcast_operation(to, node, count == 0 ? node.inputs.size() : count, word, code);
    auto const first = to.is_tensor(node, 0) ? to.tensor(node, 0).elements : element_kind::real;
    y.elements = keeps_kind ? first : made;
    to.set(node, y);
  };
}

onnx_converter on_one(own_text word, operation_code const& code, bool keeps_kind = false) {
  return [=](trace& to, onnx_node const& node) {
    auto const& x = to.tensor(node, 0);
    auto y = each_number(to, x, word, code);
    y.elements = keeps_kind ? x.elements : element_kind::real;
    to.set(node, y);
  };
}

/// The code of a function of one operand, or of a sign between two.
operation_code function_of(own_text name) {
  return [=](operands const& x) { return source_text(name) + "(" + comma_list(x) + ")"; };
}
operation_code between(own_text sign) {
  return [=](operands const& x) { return x[0] + sign + x[1]; };
}

bool takes_whole(trace& to, onnx_node const& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (to.is_tensor(node, i) && to.joined_tensor(node, i).elements != element_kind::real) return true;
  return false;
}

void divide(trace& to, onnx_node const& node) {
  bool const is_whole = takes_whole(to, node);
  auto y = broadcast_operation(to, node, 2, "quotient", between(" / "));
  if (is_whole) y = each_number(to, y, "whole", [](operands const& x) { return truncated(x[0]); });
  y.elements = is_whole ? element_kind::whole : element_kind::real;
  to.set(node, y);
}

void power(trace& to, onnx_node const& node) {
  if (!to.is_tensor(node, 1) && to.is_tensor(node, 0)) {
    auto const exponent = to.required(node, 1);
    auto const& x = to.tensor(node, 0);
    double const by = exponent.values.size() == 1 ? exponent.values[0] : 0;
    own_text const word = "power";
    if (by == 2)
      return to.set(node, each_number(to, x, "square", [](operands const& a) { return a[0] + " * " + a[0]; }));
    if (by == 3)
      return to.set(node,
                    each_number(to, x, word, [](operands const& a) { return a[0] + " * " + a[0] + " * " + a[0]; }));
    if (by == 0.5) return to.set(node, each_number(to, x, "root", function_of("sqrt")));
  }
  to.set(node, broadcast_operation(to, node, 2, "power", function_of("pow")));
}

void modulo(trace& to, onnx_node const& node) {
  bool const is_whole = takes_whole(to, node), is_of_dividend = node.integer("fmod", 0) != 0;
  if (!is_whole && !is_of_dividend) throw unsupported("is of numbers with a fraction, and not fmod");
  // `fmod` is exact, whereas x - y trunc(x / y) is wrong by y where the quotient is rounded up to a whole number. It
  // takes no number together with a tensor; `where` turns the number into a tensor.
  bool const is_of_number = !to.is_tensor(node, 0) && to.required(node, 0).values.size() == 1;
  auto y = broadcast_operation(to, node, 2, "remainder", [=](operands const& x) {
    if (!is_of_dividend) return x[0] + " - " + x[1] + " * floor(" + x[0] + " / " + x[1] + ")";
    auto const dividend = is_of_number ? "where("_cpp + x[1] + ", " + x[0] + ", " + x[0] + ")" : x[0];
    return "fmod("_cpp + dividend + ", " + x[1] + ")";
  });
  y.elements = is_whole ? element_kind::whole : element_kind::real;
  to.set(node, y);
}

/// Casts to another type: to whole numbers by dropping the fraction, or to truth values.
void cast(trace& to, onnx_node const& node) {
  constexpr std::int64_t uint8 = 2, int8 = 3, int32 = 6, int64 = 7;
  auto const& x = to.tensor(node, 0);
  auto const type = node.integer("to", 1);
  auto const kind = element_kind_of(type);
  traced_tensor y;
  if (kind == element_kind::truth)
    y = each_number(to, x, "truth", [](operands const& a) { return "1.0F - equal("_cpp + a[0] + ", 0.0F)"; });
  else if (x.elements == element_kind::real && (type == int32 || type == int64))
    y = each_number(to, x, "whole", [](operands const& a) { return truncated(a[0]); });
  else if (type == uint8 || type == int8)
    y = each_number(to, x, "wrapped", [=](operands const& a) {
      auto const name = type == uint8 ? "sc::dtype::uint8"_cpp : "sc::dtype::int8"_cpp;
      return "ops.cast(ops.cast("_cpp + a[0] + ", " + name + "), sc::dtype::float32)";
    });
  else
    throw unsupported(kind == element_kind::real ? "rounds to 16 bits, which is not here"
                                                 : "makes numbers of a type that is not here");
  y.elements = *kind;
  to.set(node, y);
}

/// Casts to the type of another tensor.
void cast_like(trace& to, onnx_node const& node) {
  int const type = node.inputs.size() == 2 ? to.type_of(node.inputs[1]) : 0;
  if (type == 0) throw unsupported("makes numbers of a type that is not known here");
  onnx_node made;
  made.type = "Cast", made.inputs = {node.inputs[0]};
  auto& number = made.attributes["to"];
  number.kind = onnx_kind::integer, number.integer = type;
  to.set_alias(node, to.convert_made(std::move(made)), 0);
}

/// Sum, Max, Min, Mean of any number of tensors.
onnx_converter of_all(own_text word, own_text before, own_text middle, own_text after, bool is_mean = false) {
  return on_each(
      0, word,
      [=](operands const& x) {
        auto text = x[0];
        for (std::size_t i = 1; i < x.size(); ++i) text = before + text + middle + x[i] + after;
        return is_mean ? "(" + text + ") / " + float_text(static_cast<double>(x.size())) : text;
      },
      element_kind::real, true);
}

}  // namespace

source_text float_text(double number) {
  if (std::isnan(number)) throw unsupported("has a constant that is no number");
  auto const value = static_cast<float>(number);
  if (std::isinf(value))
    return value < 0 ? "-std::numeric_limits<float>::infinity()"_cpp : "std::numeric_limits<float>::infinity()"_cpp;
  return number_text(value);
}

source_text truncated(source_text const& x) {
  return "where("_cpp + x + " < 0.0F, -floor(-" + x + "), floor(" + x + "))";
}

source_text list_text(std::vector<int> const& numbers) {
  std::vector<source_text> entries;
  for (int const each : numbers) entries.push_back(number_text(each));
  return comma_list(entries);
}

source_text shape_text(source_text const& of, std::vector<int> const& lengths) {
  return "{"_cpp + of + ".length(0)" + (lengths.empty() ? ""_cpp : ", "_cpp) + list_text(lengths) + "}";
}

std::string constant_name(std::string const& name) {
  auto const begin = name.find_last_of("./:");
  auto result = clean_name(begin == std::string::npos ? name : name.substr(begin + 1));
  bool const is_telling = std::any_of(result.begin(), result.end(), [](char c) { return c >= 'a' && c <= 'z'; }) &&
                          (result.empty() || result.back() < '0' || result.back() > '9');
  return is_telling ? result.substr(0, 40) : "constant";
}

onnx_converter either(onnx_converter first, onnx_converter second) {
  return [=](trace& to, onnx_node const& node) {
    try {
      return first(to, node);
    } catch (unsupported const& why) {
      try {
        return second(to, node);
      } catch (unsupported const& other) {
        std::string_view const said = why.what(), more = other.what();
        throw unsupported(std::string(said) + (said == more ? "" : "; as an operation, it " + std::string(more)));
      }
    }
  };
}

traced_tensor each_number(trace& to, traced_tensor const& x, own_text word, operation_code code) {
  auto y = x;
  y.layer = to.operate({word, std::move(code)}, {x}, x.lengths).layer;
  y.is_nonnegative = false;
  return y;
}

traced_tensor like(traced_tensor const& x, traced_tensor const& made) {
  auto y = made;
  y.rank = x.rank, y.order = x.order, y.elements = x.elements;
  return y;
}

onnx_constant in_own_order(onnx_constant const& constant, std::vector<int> const& order) {
  std::vector<int> axes;
  std::copy_if(order.begin(), order.end(), std::back_inserter(axes), [](int axis) { return axis >= 0; });
  auto const moved = transposed(constant, axes);
  auto result = moved;
  result.shape.clear();
  auto next = moved.shape.begin();
  for (int const axis : order) result.shape.push_back(axis < 0 ? 1 : *next++);
  if (result.shape[0] == 1 || result.values.empty()) return result;
  auto const row = static_cast<std::ptrdiff_t>(result.values.size()) / result.shape[0];
  for (auto each = result.values.begin(); each != result.values.end(); each += row)
    if (!std::equal(each, each + row, result.values.begin()))
      throw unsupported("has a constant with a row for each sample");
  result.values.resize(static_cast<std::size_t>(row)), result.shape[0] = 1;  // equal rows: one stands for all
  return result;
}

void move_axes(traced_tensor& x, int by) {
  for (int& axis : x.order) axis += axis < 0 ? 0 : by;
  x.rank += by;
}

int place_in_sample(traced_tensor const& x, std::int64_t axis) {
  int const graph_axis = axis_of(axis, x.rank);
  auto const found = std::find(x.order.begin(), x.order.end(), graph_axis) - x.order.begin();
  if (found == 0) throw unsupported("is along samples, which stay apart here");
  return static_cast<int>(found);
}

void add_operation_converters(std::map<std::string, onnx_converter>& to) {
  constexpr auto truth = element_kind::truth;
  auto const also = [&](char const* type, onnx_converter const& more) { to[type] = either(to.at(type), more); };
  to["Sqrt"] = on_one("root", function_of("sqrt")), to["Log"] = on_one("logarithm", function_of("log"));
  to["Abs"] = on_one("absolute", function_of("abs"), true), to["Sign"] = on_one("sign_of", function_of("sign"), true);
  to["Floor"] = on_one("floor_of", function_of("floor")), to["Erf"] = on_one("error_function", function_of("erf"));
  to["Ceil"] = on_one("ceiling", [](operands const& x) { return "-floor(-"_cpp + x[0] + ")"; });
  to["Sin"] = on_one("sine", function_of("sin")), to["Cos"] = on_one("cosine", function_of("cos"));
  to["Reciprocal"] = on_one("reciprocal", [](operands const& x) { return "1.0F / "_cpp + x[0]; });
  to["Not"] = [](trace& t, onnx_node const& node) {
    auto y = each_number(t, t.tensor(node, 0), "opposite", [](operands const& x) { return "1.0F - "_cpp + x[0]; });
    y.elements = element_kind::truth;
    t.set(node, y);
  };
  to["CastLike"] = cast_like, to["Pow"] = power, to["Mod"] = modulo;
  also("Cast", cast);
  to["Less"] = on_each(2, "comparison", between(" < "), truth);
  to["Greater"] = on_each(2, "comparison", between(" > "), truth);
  to["LessOrEqual"] = on_each(2, "comparison", between(" <= "), truth);
  to["GreaterOrEqual"] = on_each(2, "comparison", between(" >= "), truth);
  to["Equal"] = [](trace& t, onnx_node const& node) {
    auto turned = node;  // a number stands second
    if (!t.is_tensor(node, 0) && node.inputs.size() == 2) std::swap(turned.inputs[0], turned.inputs[1]);
    on_each(2, "comparison", function_of("equal"), element_kind::truth)(t, turned);
  };
  to["And"] = on_each(2, "both", between(" * "), truth);
  to["Or"] = on_each(2, "either", function_of("sc::maximum"), truth);
  to["Xor"] = on_each(2, "one_of", [](operands const& x) { return "abs("_cpp + x[0] + " - " + x[1] + ")"; }, truth);
  also("Add", on_each(2, "sum", between(" + "), element_kind::real, true));
  also("Sub", on_each(2, "difference", between(" - "), element_kind::real, true));
  also("Mul", on_each(2, "product", between(" * "), element_kind::real, true));
  auto const layers_divide = to.at("Div");
  to["Div"] = [=](trace& t, onnx_node const& node) {
    return takes_whole(t, node) ? divide(t, node) : either(layers_divide, divide)(t, node);
  };
  also("Sum", of_all("sum", "", " + ", "")), also("Mean", of_all("mean_of", "", " + ", "", true));
  also("Max", of_all("largest", "sc::maximum(", ", ", ")")), also("Min", of_all("smallest", "sc::minimum(", ", ", ")"));
  also("Where", [](trace& t, onnx_node const& node) {
    if (!t.is_tensor(node, 0) && t.required(node, 0).values.size() < 2) throw unsupported("chooses by one constant");
    t.set(node, broadcast_operation(t, node, 3, "choice", function_of("where")));
  });
}

}  // namespace stagecraft::tool
