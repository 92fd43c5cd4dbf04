// SPDX-License-Identifier: BSD-3-Clause
// Lowers TensorFlow's nodes that compute each number by itself, or along axes.
#include "tensorflow/lowering.hpp"

#include <limits>
#include <numbers>

namespace stagecraft::tool {

namespace {

using lowering = tensorflow_lowering;

/// Returns the node of ONNX that has the same inputs and the same meaning.
tensorflow_converter same(char const* type) {
  return [=](lowering& to) { to.set(to.emit(type, to.all_inputs())); };
}

bool is_whole(lowering const& to, char const* attribute = "T") {
  auto const type = to.node().integer(attribute, 1);
  return type == static_cast<std::int64_t>(tensorflow_type::int32) ||
         type == static_cast<std::int64_t>(tensorflow_type::int64);
}

std::string cast(lowering& to, std::string const& x, int onnx_type) {
  return to.emit("Cast", {x}, {{"to", integer_attribute(onnx_type)}});
}

void lower_cast(lowering& to) {
  int const type = onnx_type_of(to.node().integer("DstT", 1));
  if (type == 0) throw unsupported("makes elements of a type that is not here");
  to.set(cast(to, to.input(0), type));
}

/// The quotient rounded down; of whole numbers it is (x - x mod y) / y.
void floor_division(lowering& to) {
  auto const x = to.input(0), y = to.input(1);
  if (!is_whole(to)) return to.set(to.emit("Floor", {to.emit("Div", {x, y})}));
  to.set(to.emit("Div", {to.emit("Sub", {x, to.emit("Mod", {x, y})}), y}));
}

/// The remainder with the sign of the divisor.
void floor_remainder(lowering& to) {
  auto const x = to.input(0), y = to.input(1);
  if (is_whole(to)) return to.set(to.emit("Mod", {x, y}));
  auto const rest = to.emit("Mod", {x, y}, {{"fmod", integer_attribute(1)}});  // exact, with the sign of x
  auto const signs = to.emit("Mul", {to.emit("Sign", {rest}), to.emit("Sign", {y})});
  to.set(to.emit("Where", {to.emit("Less", {signs, to.real_number(0)}), to.emit("Add", {rest, y}), rest}));
}

void truncated_remainder(lowering& to) { to.set(to.emit("Mod", to.all_inputs(), {{"fmod", integer_attribute(1)}})); }

/// Chooses zero where the divisor is zero.
void division_without_nan(lowering& to) {
  auto const x = to.input(0), y = to.input(1), zero = to.real_number(0), one = to.real_number(1);
  auto const is_zero = to.emit("Equal", {y, zero});
  auto const safe = to.emit("Where", {is_zero, one, y});
  to.set(to.emit("Where", {is_zero, zero, to.emit("Div", {x, safe})}));
}

void bias(lowering& to) {
  auto const format = to.node().text("data_format", "NHWC");
  auto const x = to.input(0);
  auto summand = to.input(1);
  if (format == "NCHW") {
    int const rank = to.rank_of(0);
    std::vector<std::int64_t> axes;
    for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
    if (!axes.empty()) summand = to.emit("Unsqueeze", {summand, to.whole_list(axes)});
  } else if (format != "NHWC") {
    throw unsupported("has a data_format that is not known");
  }
  to.set(to.emit("Add", {x, summand}));
}

/// Select of TensorFlow 1 chooses whole rows if its condition has one axis.
void select_rows(lowering& to) {
  auto const condition = to.rank(to.input(0)), x = to.rank(to.input(1));
  auto chosen = to.input(0);
  if (!condition || !x) throw unsupported("has inputs whose number of axes is not known when the graph is read");
  if (*condition == 1 && *x > 1) {
    std::vector<std::int64_t> axes;
    for (int i = 1; i < *x; ++i) axes.push_back(i);
    chosen = to.emit("Unsqueeze", {chosen, to.whole_list(axes)});
  }
  to.set(to.emit("Where", {chosen, to.input(1), to.input(2)}));
}

/// A reduction over known axes.
tensorflow_converter reduction(char const* type) {
  return [=](lowering& to) {
    auto const axes = to.required(1).integers();
    auto x = to.input(0);
    bool const keeps = to.node().truth("keep_dims");
    if (axes.empty()) return to.set(to.emit("Identity", {x}));
    bool const is_truth = to.node().type == "All" || to.node().type == "Any";
    if (is_truth) x = cast(to, x, 1);
    auto y = to.emit(type, {x}, {{"axes", integers_attribute(axes)}, {"keepdims", integer_attribute(keeps ? 1 : 0)}});
    to.set(is_truth ? cast(to, y, 9) : y);
  };
}

tensorflow_converter place_of(char const* type) {
  return [=](lowering& to) {
    auto const axis = to.required(1).integers();
    if (axis.size() != 1) throw unsupported("has more than one axis");
    to.set(to.emit(type, {to.input(0)}, {{"axis", integer_attribute(axis[0])}, {"keepdims", integer_attribute(0)}}));
  };
}

tensorflow_converter cumulative(char const* type) {
  return [=](lowering& to) {
    to.set(to.emit(type, {to.input(0), to.input(1)},
                   {{"exclusive", integer_attribute(to.node().truth("exclusive") ? 1 : 0)},
                    {"reverse", integer_attribute(to.node().truth("reverse") ? 1 : 0)}}));
  };
}

/// The sum of tensors.
void sum_of_all(lowering& to) {
  auto const all = to.all_inputs();
  if (all.empty()) throw unsupported("lacks inputs");
  to.set(all.size() == 1 ? to.emit("Identity", all) : to.emit("Sum", all));
}

/// Adds the nodes that compute an output from one input.
using one_to_one = std::string (*)(lowering&, std::string const&);
tensorflow_converter composed(one_to_one make) {
  return [=](lowering& to) { to.set(make(to, to.input(0))); };
}

/// 1 - erf(x), which is 1 + erf(-x): a GELU has -x * c as its input.
void complement_of_erf(lowering& to) {
  auto const x = to.input(0), one = to.real_number(1);
  auto const* const product = to.giver(x, "Mul");
  if (product != nullptr && product->inputs.size() == 2 && to.known(product->inputs[1])) {
    auto const by = product->inputs[1];
    if (auto const* const negative = to.giver(product->inputs[0], "Neg"); negative != nullptr) {
      auto const of = negative->inputs[0];
      return to.set(to.emit("Add", {one, to.emit("Erf", {to.emit("Mul", {of, by})})}));
    }
  }
  to.set(to.emit("Sub", {one, to.emit("Erf", {x})}));
}

std::string plus(lowering& to, std::string const& x, double number) {
  return to.emit("Add", {x, to.real_number(number)});
}
/// e^x - 1 as tanh(x / 2) (e^x + 1), which keeps the digits of small x.
std::string exponential_minus_one(lowering& to, std::string const& x) {
  auto const half = to.emit("Mul", {x, to.real_number(0.5)});
  return to.emit("Mul", {to.emit("Tanh", {half}), plus(to, to.emit("Exp", {x}), 1)});
}
/// log(1 + x) as x log(u) / (u - 1) with u = 1 + x, which keeps the digits of small x; x itself where u is 1.
std::string logarithm_of_one_plus(lowering& to, std::string const& x) {
  auto const one = to.real_number(1), u = plus(to, x, 1), logarithm = to.emit("Log", {u});
  auto const quotient = to.emit("Div", {x, to.emit("Sub", {u, one})});
  auto const is_small = to.emit("Less", {to.emit("Abs", {x}), to.real_number(0.5)});
  auto const product = to.emit("Mul", {logarithm, quotient});
  auto const corrected = to.emit("Where", {to.emit("Equal", {u, one}), x, product});
  return to.emit("Where", {is_small, corrected, logarithm});
}

}  // namespace

void add_elementwise_lowerings(std::map<std::string, tensorflow_converter>& to) {
  for (char const* const each :
       {"Abs",  "Acos", "Acosh",    "Asin",     "Asinh",   "Atan",  "Atanh",     "Ceil",    "Cos",
        "Cosh", "Erf",  "Exp",      "Floor",    "Log",     "Neg",   "Relu",      "Sigmoid", "Sign",
        "Sin",  "Sinh", "Softplus", "Softsign", "Sqrt",    "Tan",   "Tanh",      "Add",     "Sub",
        "Mul",  "Pow",  "Equal",    "Less",     "Greater", "Round", "Reciprocal"})
    to[each] = same(each);
  to["Inv"] = same("Reciprocal"), to["Rint"] = same("Round"), to["IsNan"] = same("IsNaN");
  to["IsInf"] = same("IsInf");
  to["LogicalNot"] = same("Not"), to["LogicalAnd"] = same("And"), to["LogicalOr"] = same("Or");
  to["AddV2"] = same("Add"), to["BiasAddV1"] = same("Add"), to["RealDiv"] = same("Div"), to["Div"] = same("Div");
  to["TruncateDiv"] = same("Div"), to["Maximum"] = same("Max"), to["Minimum"] = same("Min");
  to["LessEqual"] = same("LessOrEqual"), to["GreaterEqual"] = same("GreaterOrEqual"), to["SelectV2"] = same("Where");
  to["Selu"] = same("Selu"), to["Elu"] = same("Elu");
  to["Cast"] = lower_cast, to["FloorDiv"] = floor_division, to["FloorMod"] = floor_remainder;
  to["Mod"] = to["TruncateMod"] = truncated_remainder;
  to["DivNoNan"] = division_without_nan, to["BiasAdd"] = bias, to["Select"] = select_rows;
  to["AddN"] = to["AccumulateNV2"] = sum_of_all;
  to["NotEqual"] = [](lowering& t) { t.set(t.emit("Not", {t.emit("Equal", t.all_inputs())})); };
  to["SquaredDifference"] = [](lowering& t) {
    auto const d = t.emit("Sub", {t.input(0), t.input(1)});
    t.set(t.emit("Mul", {d, d}));
  };
  to["MulNoNan"] = [](lowering& t) {  // zero where the second input is zero
    auto const x = t.input(0), y = t.input(1), zero = t.real_number(0);
    t.set(t.emit("Where", {t.emit("Equal", {y, zero}), zero, t.emit("Mul", {x, y})}));
  };
  to["Xdivy"] = [](lowering& t) {  // zero where the first input is zero
    auto const x = t.input(0), y = t.input(1), zero = t.real_number(0);
    t.set(t.emit("Where", {t.emit("Equal", {x, zero}), zero, t.emit("Div", {x, y})}));
  };
  to["Erfc"] = complement_of_erf;
  to["Expm1"] = composed(exponential_minus_one), to["Log1p"] = composed(logarithm_of_one_plus);
  to["Rsqrt"] = composed([](lowering& t, std::string const& x) { return t.emit("Reciprocal", {t.emit("Sqrt", {x})}); });
  to["Square"] = composed([](lowering& t, std::string const& x) { return t.emit("Mul", {x, x}); });
  to["IsFinite"] = composed([](lowering& t, std::string const& x) {
    return t.emit("Not", {t.emit("Or", {t.emit("IsNaN", {x}), t.emit("IsInf", {x})})});
  });
  to["Relu6"] = composed(
      [](lowering& t, std::string const& x) { return t.emit("Clip", {x, t.real_number(0), t.real_number(6)}); });
  to["LeakyRelu"] = [](lowering& t) {
    t.set(t.emit("LeakyRelu", {t.input(0)}, {{"alpha", real_attribute(t.node().real("alpha", 0.2F))}}));
  };
  to["ClipByValue"] = [](lowering& t) { t.set(t.emit("Min", {t.emit("Max", {t.input(0), t.input(1)}), t.input(2)})); };
  to["ZerosLike"] = [](lowering& t) { t.set(t.emit("Sub", {t.input(0), t.input(0)})); };
  to["OnesLike"] = [](lowering& t) {
    auto const shape = t.emit("Shape", {t.input(0)});
    t.set(t.emit("Expand", {is_whole(t) ? t.whole_number(1) : t.real_number(1), shape}));
  };
  to["Softmax"] = [](lowering& t) { t.set(t.emit("Softmax", {t.input(0)}, {{"axis", integer_attribute(-1)}})); };
  to["LogSoftmax"] = [](lowering& t) { t.set(t.emit("LogSoftmax", {t.input(0)}, {{"axis", integer_attribute(-1)}})); };
  to["Sum"] = reduction("ReduceSum"), to["Mean"] = reduction("ReduceMean"), to["Max"] = reduction("ReduceMax");
  to["Min"] = reduction("ReduceMin"), to["Prod"] = reduction("ReduceProd"), to["EuclideanNorm"] = reduction("ReduceL2");
  to["All"] = reduction("ReduceMin"), to["Any"] = reduction("ReduceMax");
  to["ArgMax"] = place_of("ArgMax"), to["ArgMin"] = place_of("ArgMin");
  to["Cumsum"] = cumulative("CumSum"), to["Cumprod"] = cumulative("CumProd");
}

}  // namespace stagecraft::tool
