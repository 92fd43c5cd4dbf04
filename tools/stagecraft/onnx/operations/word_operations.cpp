// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes on whole numbers that float32 may not hold: they are computed in int32, which wraps as ONNX's does.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

constexpr int float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6, uint32 = 12, uint64 = 13;

source_text cast_text(source_text const& x, own_text type) {
  return "ops.cast("_cpp + x + ", sc::dtype::" + type + ")";
}

/// The numbers of a type of fewer bits, to which those of int32 wrap; int8 and uint8 are floats here.
traced_tensor wrapped(trace& to, traced_tensor const& x, int type) {
  operation_code code;
  if (type == uint8) code = [](operands const& a) { return cast_text(cast_text(a[0], "uint8"), "float32"); };
  if (type == int8) code = [](operands const& a) { return cast_text(cast_text(a[0], "int8"), "float32"); };
  if (type == uint16) code = [](operands const& a) { return "bitwise_and("_cpp + a[0] + ", 65535)"; };
  if (type == int16) code = [](operands const& a) { return "right_shift(left_shift("_cpp + a[0] + ", 16), 16)"; };
  if (!code) return x;
  auto y = x;
  y.layer = to.operate({"wrapped", code, {}, {}, type == uint16 || type == int16}, {x}, x.lengths).layer;
  return y;
}

/// The floats nearest to results without a sign, of operands that int32 has and a result whose lower 32 bits are x, if
/// only the graph's outputs read them. Half of a number of 32 bits is rounded as the number is, as long as its last bit
/// is that of both. Sums of uint64 have no more bits, and differences below 0 are 2^64 and less, to the nearest float.
std::optional<traced_tensor> without_sign(trace& to, onnx_node const& node, traced_tensor const& x, int type) {
  bool const is_difference = node.type == "Sub", is_sum = node.type == "Add";
  bool const wraps = is_sum || is_difference || node.type == "Mul" || node.type == "BitShift";
  if (type != uint32 && !(type == uint64 && (is_sum || is_difference))) return std::nullopt;
  if (!wraps || !to.is_output_alone(node.outputs.at(0))) return std::nullopt;
  operation_code const code = [=](operands const& a) {
    auto const half =
        "bitwise_or(bitwise_and(right_shift("_cpp + a[0] + ", 1), 2147483647), bitwise_and(" + a[0] + ", 1))";
    auto const large =
        type == uint64 && is_difference ? "18446744073709551616.0F"_cpp : cast_text(half, "float32") + " * 2.0F";
    return "where("_cpp + a[0] + " < 0, " + large + ", " + cast_text(a[0], "float32") + ")";
  };
  auto y = x;
  y.layer = to.operate({"number", code, {}, {}, false}, {x}, x.lengths).layer;
  y.elements = element_kind::whole, y.is_nonnegative = true;
  return y;
}

/// Converts an operation on whole numbers. Throws unsupported if a result may be outside of int32 where that does not
/// wrap as ONNX's type does.
onnx_converter on_words(std::size_t count, own_text word, operation_code const& code, bool gives_truths = false,
                        number_operands numbers = number_operands::none) {
  return [=](trace& to, onnx_node const& node) {
    auto y = broadcast_operation(to, node, count == 0 ? node.inputs.size() : count, word, code,
                                 word_operands{numbers, node.type == "Where", !gives_truths});
    if (!gives_truths) {
      auto const range = to.result_range(node, 0);
      int const type = to.type_of(node.outputs.at(0));
      auto const of_type = range_of_type(type);
      bool const fits = range.is_within(std::max(of_type.least, -0x1p31), std::min(of_type.most, 0x1p31 - 1));
      if (!fits && type <= int16) y = wrapped(to, y, type);
      if (auto const found = !fits && !to.narrows_words() ? without_sign(to, node, y, type) : std::nullopt)
        return to.set(node, *found);
      if (!fits && type > int32 && !to.narrows_words())
        throw unsupported(
            "may give whole numbers outside of int32, which is what int64 and uint32 are here; if the model's fit, "
            "give "
            "--int64-to-int32");
    }
    to.set(node, y);
  };
}

operation_code function_of(own_text name) {
  return [=](operands const& x) { return source_text(name) + "(" + comma_list(x) + ")"; };
}
operation_code between(own_text sign) {
  return [=](operands const& x) { return x[0] + sign + x[1]; };
}
operation_code of_all(own_text before, own_text middle, own_text after) {
  return [=](operands const& x) {
    auto text = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) text = before + text + middle + x[i] + after;
    return text;
  };
}

/// A tensor of int32, converted if it is of float32.
traced_tensor as_word(trace& to, traced_tensor const& x) {
  if (to.is_word(x)) return x;
  auto y = x;
  y.layer =
      to.operate({"whole", [](operands const& a) { return cast_text(a[0], "int32"); }, {}, {}, true}, {x}, x.lengths)
          .layer;
  return y;
}

void cast(trace& to, onnx_node const& node) {
  auto const& x = to.tensor(node, 0);
  int const type = to.type_of(node.outputs.at(0));
  auto const kind = element_kind_of(type);
  auto const range = to.range_of(node.inputs[0]), of_type = range_of_type(type);
  constexpr int float16 = 10, bfloat16 = 16;
  if (!kind) throw unsupported("makes numbers of a type that is not here");
  if (type == float16 || type == bfloat16) throw unsupported("rounds to 16 bits, which is not here");
  auto const converted = [&](own_text made) {
    auto y = x;
    y.layer =
        to.operate({"number", [=](operands const& a) { return cast_text(a[0], made); }, {}, {}, false}, {x}, x.lengths)
            .layer;
    return y;
  };
  traced_tensor y = x;
  if (*kind == element_kind::real)
    y = converted("float32");
  else if (*kind == element_kind::truth)
    y = converted("boolean");
  else if (type <= int16)
    y = wrapped(to, as_word(to, x), type);
  else if (!range.is_within(of_type.least, of_type.most) && !to.narrows_words())
    throw unsupported("takes whole numbers that its type may not have");
  y.elements = *kind, y.is_nonnegative = false;
  to.set(node, y);
}

/// The bits of float32 as int32, and back; those of other types only where the numbers follow from each other.
void cast_bits(trace& to, onnx_node const& node) {
  int const from = node.inputs.empty() ? 0 : to.type_of(node.inputs[0]), type = to.type_of(node.outputs.at(0));
  auto const& x = to.tensor(node, 0);
  auto const viewed = [&](own_text as, bool gives_words) {
    auto y = x;
    y.is_nonnegative = false;
    y.layer = to.operate({"bits",
                          [=](operands const& a) { return "view("_cpp + a[0] + ", sc::dtype::" + as + ")"; },
                          {},
                          {},
                          gives_words},
                         {x}, x.lengths)
                  .layer;
    to.set(node, y);
  };
  auto const has_8_bits = [](int each) { return each == uint8 || each == int8 || each == 9; };
  if (from == float32 && type == int32) return viewed("int32", true);
  if (from == int32 && type == float32) return viewed("float32", false);
  bool const has_16 = (from == uint16 || from == int16) && (type == uint16 || type == int16);
  if (has_16 || (has_8_bits(from) && (type == uint8 || type == int8)))
    return to.set(node, wrapped(to, as_word(to, x), type));
  if (from == uint32 && type == int32) return to.set(node, x);  // what is above int32 is refused as an input
  throw unsupported("makes the bits of ONNX's type " + std::to_string(from) + " into type " + std::to_string(type) +
                    ", which is not here");
}

/// Clip as Max and Min.
void clip(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto y = node.inputs.at(0);
  if (has_input(node, 1)) y = make("Max", {y, node.inputs[1]});
  if (has_input(node, 2)) y = make("Min", {y, node.inputs[2]});
  to.set_alias(node, y, 0);
}

/// Converts a node as one of floats, if these have all numbers of its first input.
bool take_as_floats(trace& to, onnx_node const& node) {
  if (!to.range_of(node.inputs.at(0)).is_exact()) return false;
  auto part = node;
  part.inputs[0] = node_maker(to, node)("Cast", {node.inputs[0]}, {{"to", float32}});
  onnx_converters().at(node.type)(to, part);
  return true;
}

/// An input that is of int32 here under a name for which this is its type, whatever it is in the file.
std::string as_int32(trace& to, onnx_node const& node) {
  auto const x = node_maker(to, node)("Identity", {node.inputs.at(0)});
  auto const range = to.range_of(x);
  to.retype(x, int32, {std::max(range.least, -0x1p31), std::min(range.most, 0x1p31 - 1)});
  return x;
}

/// Moves whole numbers as the floats of their upper and their lower 16 bits.
void move_halves(trace& to, onnx_node const& node) {
  if (take_as_floats(to, node)) return;
  node_maker const make(to, node);
  auto const x = as_int32(to, node);
  auto const moved = [&](std::string const& half, value_range range) {
    auto part = node;
    part.inputs[0] = make("Cast", {half}, {{"to", float32}});
    auto const y = make("Cast", {make.of(std::move(part))}, {{"to", int32}});
    to.retype(y, int32, range);
    return y;
  };
  auto const low = make("BitwiseAnd", {x, make.whole({65535})});
  auto const high = make("Div", {make("Sub", {x, low}), make.whole({65536})});
  auto const y =
      make("Add", {make("Mul", {moved(high, {-32768, 32767}), make.whole({65536})}), moved(low, {0, 65535})});
  to.retype(y, to.type_of(node.inputs[0]), to.range_of(node.inputs[0]));
  to.set_alias(node, y, 0);
}

/// The largest or smallest numbers of an axis: the place of each in their order is the number of those before it.
void largest(trace& to, onnx_node const& node) {
  if (take_as_floats(to, node)) return;
  constexpr std::int64_t most_compared = 1024;
  auto const count = to.required(node, 1);
  auto const& x = to.tensor(node, 0);
  int const rank = x.rank, axis = axis_of(node.integer("axis", -1), rank);
  auto const length = to.length_of(node, 0, axis);
  if (count.values.size() != 1 || count.values[0] < 1 || count.values[0] > static_cast<double>(length))
    throw unsupported("takes a number of elements that its axis has not");
  if (length > most_compared) throw unsupported("takes the largest of too many whole numbers above 2^24");
  node_maker const make(to, node);
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  bool const is_last = axis == rank - 1;
  auto const in = as_int32(to, node);
  auto const last = is_last ? in : make.turned(in, order);
  auto const at_end = make.whole({static_cast<double>(rank)}), before = make.whole({static_cast<double>(rank - 1)});
  auto const each = make("Unsqueeze", {last, at_end}), other = make("Unsqueeze", {last, before});
  auto const n = static_cast<std::size_t>(length), k = static_cast<std::size_t>(count.values[0]);
  auto const table = [&](std::size_t columns, auto const& number) {
    onnx_constant made{{length, static_cast<std::int64_t>(columns)}, {}, false};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < columns; ++j) made.values.push_back(static_cast<double>(number(i, j)));
    return to.add_constant(std::move(made));
  };
  auto const real = [&](std::string const& truth) { return make("Cast", {truth}, {{"to", float32}}); };
  auto const ahead = real(make(node.integer("largest", 1) != 0 ? "Greater" : "Less", {other, each}));
  auto const equal = make("Mul", {real(make("Equal", {other, each})), table(n, [](auto i, auto j) { return j < i; })});
  auto const place = make("ReduceSum", {make("Add", {ahead, equal}), at_end}, {{"keepdims", 1}});
  auto const is_there = real(make("Equal", {place, table(k, [](auto, auto j) { return j; })}));
  auto places =
      make("ReduceSum", {make("Mul", {is_there, table(k, [](auto i, auto) { return i; })}), before}, {{"keepdims", 0}});
  to.retype(places, 7, {0, static_cast<double>(length - 1)});
  auto values = make("GatherElements", {last, places}, {{"axis", rank - 1}});
  if (!is_last) places = make.turned(places, order), values = make.turned(values, order);
  to.retype(values, to.type_of(node.inputs[0]), to.range_of(node.inputs[0]));
  to.set_alias(node, values, 0), to.set_alias(node, places, 1);
}

void shift(trace& to, onnx_node const& node) {
  auto const direction = node.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") throw unsupported("has no direction");
  auto const code = direction == "LEFT" ? function_of("left_shift") : function_of("right_shift");
  on_words(2, "shifted", code, false, number_operands::second)(to, node);
}

}  // namespace

std::map<std::string, onnx_converter> const& word_converters() {
  static auto const all = [] {
    constexpr auto any = number_operands::any, second = number_operands::second;
    std::map<std::string, onnx_converter> to;
    to["Add"] = on_words(2, "sum", between(" + "), false, any);
    to["Sub"] = on_words(2, "difference", between(" - "), false, any);
    to["Mul"] = on_words(2, "product", between(" * "), false, any);
    to["Div"] = on_words(2, "quotient", between(" / "), false, any);
    to["Sum"] = on_words(0, "sum", of_all("", " + ", ""));
    to["Max"] = on_words(0, "largest", of_all("sc::maximum(", ", ", ")"), false, second);
    to["Min"] = on_words(0, "smallest", of_all("sc::minimum(", ", ", ")"), false, second);
    to["Mod"] = [](trace& t, onnx_node const& node) {
      on_words(2, "remainder", node.integer("fmod", 0) != 0 ? function_of("fmod") : function_of("mod"))(t, node);
    };
    to["Pow"] = on_words(2, "power", function_of("pow"));
    to["Neg"] = on_words(1, "negative", [](operands const& x) { return "-"_cpp + x[0]; });
    to["Abs"] = on_words(1, "absolute", function_of("abs"));
    to["Sign"] = on_words(1, "sign_of", function_of("sign"));
    to["Relu"] = on_words(1, "largest", [](operands const& x) { return "sc::maximum("_cpp + x[0] + ", 0)"; });
    to["Where"] = on_words(3, "choice", function_of("where"));
    to["Less"] = on_words(2, "comparison", between(" < "), true, any);
    to["Greater"] = on_words(2, "comparison", between(" > "), true, any);
    to["LessOrEqual"] = on_words(2, "comparison", between(" <= "), true, any);
    to["GreaterOrEqual"] = on_words(2, "comparison", between(" >= "), true, any);
    to["Equal"] = on_words(2, "comparison", function_of("equal"), true, second);
    to["BitwiseAnd"] = on_words(2, "common_bits", function_of("bitwise_and"), false, second);
    to["BitwiseOr"] = on_words(2, "all_bits", function_of("bitwise_or"), false, second);
    to["BitwiseXor"] = on_words(2, "other_bits", function_of("bitwise_xor"), false, second);
    to["BitwiseNot"] = on_words(1, "opposite_bits", function_of("bitwise_not"));
    to["GatherElements"] = to["GatherND"] = move_halves;
    to["TopK"] = largest;
    add_word_reductions(to);
    to["BitShift"] = shift, to["BitCast"] = cast_bits, to["Cast"] = cast, to["Clip"] = clip;
    return to;
  }();
  return all;
}

}  // namespace stagecraft::tool
