// SPDX-License-Identifier: BSD-3-Clause
// The operations on tensors that Keras's files name, as nodes of TensorFlow: those of keras.ops begin with "keras.",
// those of TensorFlow's functions with "tf.". Each row has the function's parameters in the order of the writer's.
// These compute each number by itself.
#include "keras/operator_words.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace stagecraft::tool::operator_words {

namespace {

operator_writer one(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    return {of_kind(to.emit(type, {to.as_real(in.tensor(0))}), operand_kind::real)};
  };
}
/// An operation of one number after which whole numbers are whole.
operator_writer one_kept(char const* type) {
  return [=](graph& to, arguments& in) -> operands { return {to.emit(type, {to.as_real(in.tensor(0))})}; };
}
operand of_two(graph& to, char const* type, operand const& a, operand const& b) {
  return to.emit(type, {to.as_real(a), to.as_real(b)});
}
operator_writer two(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = in.tensor(0), y = in.tensor(1);
    return {of_two(to, type, x, y)};
  };
}
operator_writer comparison(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = in.tensor(0), y = in.tensor(1);
    return {of_kind(of_two(to, type, x, y), operand_kind::truth)};
  };
}
operator_writer logic(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_truth(in.tensor(0)), y = to.as_truth(in.tensor(1));
    return {of_kind(to.emit(type, {x, y}), operand_kind::truth)};
  };
}
operator_writer test(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    return {of_kind(to.emit(type, {to.as_real(in.tensor(0))}), operand_kind::truth)};
  };
}
/// An operation that is made of others.
using composed_words = operand (*)(graph&, operand const&);
operator_writer composed(composed_words write) {
  return [=](graph& to, arguments& in) -> operands { return {write(to, to.as_real(in.tensor(0)))}; };
}

operands quotient(graph& to, arguments& in) {
  auto const x = in.tensor(0), y = in.tensor(1);
  return {of_kind(of_two(to, "RealDiv", x, y), operand_kind::real)};
}

operands not_of(graph& to, arguments& in) {
  return {of_kind(to.emit("LogicalNot", {to.as_truth(in.tensor(0))}), operand_kind::truth)};
}

operand scaled(graph& to, operand const& x, double by) { return to.emit("Mul", {x, to.real_number(by)}); }
operand shifted(graph& to, operand const& x, double by) { return to.emit("AddV2", {x, to.real_number(by)}); }
operand clipped(graph& to, operand const& x, double least, double most) {
  return to.emit("ClipByValue", {x, to.real_number(least), to.real_number(most)});
}
operand truncated(graph& to, operand const& x) {
  auto const whole =
      to.emit("Cast", {x}, {{"SrcT", type_attribute_of(type_of_floats)}, {"DstT", type_attribute_of(type_of_ints)}});
  return to.emit("Cast", {whole},
                 {{"SrcT", type_attribute_of(type_of_ints)}, {"DstT", type_attribute_of(type_of_floats)}});
}

operand gelu_of(graph& to, operand const& x, bool approximate) {
  if (approximate) {
    auto const cube = to.emit("Mul", {to.emit("Mul", {x, x}), x});
    auto const inner = scaled(to, to.emit("AddV2", {x, scaled(to, cube, 0.044715)}), std::sqrt(2 / std::numbers::pi));
    return to.emit("Mul", {scaled(to, x, 0.5), shifted(to, to.emit("Tanh", {inner}), 1)});
  }
  auto const erf = to.emit("Erf", {to.emit("RealDiv", {x, to.real_number(std::numbers::sqrt2)})});
  return to.emit("Mul", {scaled(to, x, 0.5), shifted(to, erf, 1)});
}
operator_writer gelu(bool by_default) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    return {gelu_of(to, x, in.truth(1, by_default))};
  };
}

operands silu(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  auto const beta = in.real(1, 1);
  auto const gate = to.emit("Sigmoid", {beta == 1 ? x : scaled(to, x, beta)});
  return {to.emit("Mul", {x, gate})};
}

operator_writer leaky_relu(double by_default) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    return {to.emit("LeakyRelu", {x}, {{"alpha", real_attribute_of(in.real(1, by_default))}})};
  };
}

operands elu(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  auto const alpha = in.real(1, 1);
  if (alpha == 1) return {to.emit("Elu", {x})};
  auto const negative = to.emit("Minimum", {x, to.real_number(0)});
  return {to.emit("AddV2", {to.emit("Relu", {x}), scaled(to, to.emit("Expm1", {negative}), alpha)})};
}

operands clip(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0)), least = to.as_real(in.tensor(1)), most = to.as_real(in.tensor(2));
  return {to.emit("ClipByValue", {x, least, most})};
}

operands round(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  if (in.integer(1, 0) != 0) throw unsupported("rounds to another number of decimals than 0");
  return {to.emit("Round", {x})};
}

operands softmax(graph& to, arguments& in, char const* type) {
  auto const x = to.as_real(in.tensor(0));
  auto const axis = in.integer(1, -1);
  if (axis == -1 || (x.rank && axis == *x.rank - 1)) return {to.emit(type, {x})};
  auto order = all_axes(x);
  auto const place = from_front(axis, x);
  if (place < 0 || place >= rank_of(x)) throw unsupported("has an axis that is none");
  std::swap(order[static_cast<std::size_t>(place)], order.back());
  auto const turned = to.emit("Transpose", {x, to.whole_list(order)});
  return {ranked(to.emit("Transpose", {to.emit(type, {turned}), to.whole_list(order)}), x.rank)};
}

operands where(graph& to, arguments& in) {
  auto const chosen = to.as_truth(in.tensor(0)), x = to.as_real(in.tensor(1)), y = to.as_real(in.tensor(2));
  auto result = to.emit("SelectV2", {chosen, x, y});
  result.kind =
      x.kind == operand_kind::whole && y.kind == operand_kind::whole ? operand_kind::whole : operand_kind::real;
  return {result};
}

operands cast(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const type = in.text(1, "float32");
  if (type == "bool") return {to.as_truth(x)};
  auto const number = to.as_real(x);
  if (type == "float32" || type == "float64") return {of_kind(to.emit("Identity", {number}), operand_kind::real)};
  if (type != "int32" && type != "int64") throw unsupported("makes numbers of type " + type);
  if (x.kind != operand_kind::real) return {of_kind(to.emit("Identity", {number}), operand_kind::whole)};
  return {of_kind(truncated(to, number), operand_kind::whole)};
}

operands same(graph& to, arguments& in) { return {to.emit("Identity", {in.tensor(0)})}; }

operator_writer filled(double value) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    if (auto const type = in.text(1, "float32"); type != "float32") throw unsupported("makes numbers of type " + type);
    return {to.emit(value == 0 ? "ZerosLike" : "OnesLike", {x})};
  };
}

}  // namespace

void add_elementwise(table& to) {
  struct row {
    char const *keras, *tensorflow;
    operator_writer write;
  };
  for (auto const& each : {row{"Add", "math.add", two("AddV2")},
                           row{"Subtract", "math.subtract", two("Sub")},
                           row{"Multiply", "math.multiply", two("Mul")},
                           row{"TrueDivide", "math.truediv", quotient},
                           row{"Divide", "math.divide", quotient},
                           row{"DivideNoNan", "math.divide_no_nan", two("DivNoNan")},
                           row{"Power", "math.pow", two("Pow")},
                           row{"FloorDivide", "floor_div", two("FloorDiv")},
                           row{"Mod", "math.floormod", two("FloorMod")},
                           row{"Maximum", "math.maximum", two("Maximum")},
                           row{"Minimum", "math.minimum", two("Minimum")},
                           row{"", "math.squared_difference", two("SquaredDifference")},
                           row{"", "__operators__.add", two("AddV2")},
                           row{"", "nn.bias_add", two("AddV2")},
                           row{"Equal", "math.equal", comparison("Equal")},
                           row{"NotEqual", "math.not_equal", comparison("NotEqual")},
                           row{"Less", "math.less", comparison("Less")},
                           row{"LessEqual", "math.less_equal", comparison("LessEqual")},
                           row{"Greater", "math.greater", comparison("Greater")},
                           row{"GreaterEqual", "math.greater_equal", comparison("GreaterEqual")},
                           row{"LogicalAnd", "math.logical_and", logic("LogicalAnd")},
                           row{"LogicalOr", "math.logical_or", logic("LogicalOr")}}) {
    if (*each.keras != 0) add(to, "keras." + std::string(each.keras), "x1 x2", each.write);
    bool const is_bias = std::string_view(each.tensorflow) == "nn.bias_add";
    add(to, "tf." + std::string(each.tensorflow), is_bias ? "value bias" : "x y", each.write);
  }
  for (auto const& each : {row{"Absolute", "math.abs", one_kept("Abs")},
                           row{"Abs", "abs", one_kept("Abs")},
                           row{"Negative", "math.negative", one_kept("Neg")},
                           row{"Sign", "math.sign", one_kept("Sign")},
                           row{"Square", "math.square", one_kept("Square")},
                           row{"Exp", "math.exp", one("Exp")},
                           row{"Expm1", "math.expm1", one("Expm1")},
                           row{"Log", "math.log", one("Log")},
                           row{"Log1p", "math.log1p", one("Log1p")},
                           row{"Sqrt", "math.sqrt", one("Sqrt")},
                           row{"Rsqrt", "math.rsqrt", one("Rsqrt")},
                           row{"Reciprocal", "math.reciprocal", one("Reciprocal")},
                           row{"Sin", "math.sin", one("Sin")},
                           row{"Cos", "math.cos", one("Cos")},
                           row{"Tan", "math.tan", one("Tan")},
                           row{"Arcsin", "math.asin", one("Asin")},
                           row{"Arccos", "math.acos", one("Acos")},
                           row{"Arctan", "math.atan", one("Atan")},
                           row{"Sinh", "math.sinh", one("Sinh")},
                           row{"Cosh", "math.cosh", one("Cosh")},
                           row{"Tanh", "math.tanh", one("Tanh")},
                           row{"Arcsinh", "math.asinh", one("Asinh")},
                           row{"Arccosh", "math.acosh", one("Acosh")},
                           row{"Arctanh", "math.atanh", one("Atanh")},
                           row{"Erf", "math.erf", one("Erf")},
                           row{"Erfc", "math.erfc", one("Erfc")},
                           row{"Floor", "math.floor", one_kept("Floor")},
                           row{"Ceil", "math.ceil", one_kept("Ceil")},
                           row{"", "math.round", one_kept("Round")},
                           row{"Sigmoid", "math.sigmoid", one("Sigmoid")},
                           row{"Relu", "nn.relu", one_kept("Relu")},
                           row{"Relu6", "nn.relu6", one_kept("Relu6")},
                           row{"Softplus", "math.softplus", one("Softplus")},
                           row{"Softsign", "nn.softsign", one("Softsign")},
                           row{"Selu", "nn.selu", one("Selu")},
                           row{"LogicalNot", "math.logical_not", not_of},
                           row{"Isnan", "math.is_nan", test("IsNan")},
                           row{"Isinf", "math.is_inf", test("IsInf")},
                           row{"Isfinite", "math.is_finite", test("IsFinite")},
                           row{"Copy", "identity", same},
                           row{"", "stop_gradient", same}}) {
    if (*each.keras != 0) add(to, "keras." + std::string(each.keras), "x", each.write);
    std::string_view const name = each.tensorflow;
    bool const has_features = name.starts_with("nn.") || name == "math.softplus";
    add(to, "tf." + std::string(name),
        has_features ? (name == "nn.relu" || name == "nn.relu6" || name == "nn.selu" || name == "nn.softsign" ||
                                name == "math.softplus"
                            ? "features"
                            : "x")
                     : (name == "identity" || name == "stop_gradient" ? "input" : "x"),
        each.write);
  }
  add(to, "keras.StopGradient", "variable", same);
  add(to, "keras.Round", "x decimals", round);
  add(to, "keras.Clip", "x x_min x_max", clip);
  add(to, "tf.clip_by_value", "t clip_value_min clip_value_max", clip);
  add(to, "keras.Gelu", "x approximate", gelu(true));
  add(to, "tf.nn.gelu", "features approximate", gelu(false));
  add(to, "keras.Silu", "x beta", silu);
  add(to, "tf.nn.silu", "features beta", silu);
  add(to, "tf.nn.swish", "features beta", silu);
  add(to, "keras.LeakyRelu", "x negative_slope", leaky_relu(0.2));
  add(to, "tf.nn.leaky_relu", "features alpha", leaky_relu(0.2));
  add(to, "keras.Elu", "x alpha", elu);
  add(to, "tf.nn.elu", "features alpha", elu);
  add(to, "keras.HardSigmoid", "x",
      composed([](graph& g, operand const& x) { return scaled(g, clipped(g, shifted(g, x, 3), 0, 6), 1.0 / 6); }));
  add(to, "keras.HardSilu", "x", composed([](graph& g, operand const& x) {
        return g.emit("Mul", {x, scaled(g, clipped(g, shifted(g, x, 3), 0, 6), 1.0 / 6)});
      }));
  add(to, "keras.HardTanh", "x", composed([](graph& g, operand const& x) { return clipped(g, x, -1, 1); }));
  add(to, "keras.LogSigmoid", "x",
      composed([](graph& g, operand const& x) { return g.emit("Neg", {g.emit("Softplus", {g.emit("Neg", {x})})}); }));
  add(to, "tf.math.log_sigmoid", "x", to.at("keras.LogSigmoid").write);
  add(to, "keras.Log2", "x",
      composed([](graph& g, operand const& x) { return scaled(g, g.emit("Log", {x}), std::numbers::log2e); }));
  add(to, "keras.Log10", "x",
      composed([](graph& g, operand const& x) { return scaled(g, g.emit("Log", {x}), std::numbers::log10e); }));
  add(to, "keras.Trunc", "x", composed(truncated));
  add(to, "keras.Softmax", "x axis", [](graph& g, arguments& in) { return softmax(g, in, "Softmax"); });
  add(to, "tf.nn.softmax", "logits axis", [](graph& g, arguments& in) { return softmax(g, in, "Softmax"); });
  add(to, "keras.LogSoftmax", "x axis", [](graph& g, arguments& in) { return softmax(g, in, "LogSoftmax"); });
  add(to, "tf.nn.log_softmax", "logits axis", [](graph& g, arguments& in) { return softmax(g, in, "LogSoftmax"); });
  add(to, "keras.Where", "condition x1 x2", where);
  add(to, "tf.where", "condition x y", where);
  add(to, "keras.Cast", "x dtype", cast);
  add(to, "tf.cast", "x dtype", cast);
  add(to, "keras.ZerosLike", "x dtype", filled(0)), add(to, "keras.OnesLike", "x dtype", filled(1));
  add(to, "tf.zeros_like", "input dtype", filled(0)), add(to, "tf.ones_like", "input dtype", filled(1));
  add(to, "tf.math.add_n", "inputs", [](graph& g, arguments& in) -> operands {
    operands all;
    for (auto const& each : in.tensors(0)) all.push_back(g.as_real(each));
    return {g.emit("AddN", all)};
  });
}

}  // namespace stagecraft::tool::operator_words
