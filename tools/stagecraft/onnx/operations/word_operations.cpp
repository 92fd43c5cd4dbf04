// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes on whole numbers that float32 may not hold: they are computed in int32, which wraps as ONNX's does.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

constexpr int float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6, uint32 = 12;

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
    add_word_reductions(to);
    to["BitShift"] = shift, to["BitCast"] = cast_bits, to["Cast"] = cast, to["Clip"] = clip;
    return to;
  }();
  return all;
}

}  // namespace stagecraft::tool
