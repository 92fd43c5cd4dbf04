// SPDX-License-Identifier: BSD-3-Clause
// Operations on tensors along axes, and the table of all operations.
#include "keras/operator_words.hpp"

#include <numeric>

namespace stagecraft::tool::operator_words {

namespace {

operator_writer reduction(char const* type, bool of_whole_numbers) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    if (!of_whole_numbers && x.kind == operand_kind::whole)
      throw unsupported("is of whole numbers, which it divides as such");
    auto const axes = axes_of(in, 1, x);
    bool const keeps = in.truth(2, false);
    auto const y = to.emit(type, {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(keeps)}});
    return {ranked(of_kind(y, x.kind), keeps ? x.rank : plus(x.rank, axes.size(), -1))};
  };
}
/// keras.ops computes means of whole numbers as numbers with a fraction.
operands mean(graph& to, arguments& in) {
  auto x = of_kind(to.as_real(in.tensor(0)), operand_kind::real);
  auto const axes = axes_of(in, 1, x);
  bool const keeps = in.truth(2, false);
  auto const y = to.emit("Mean", {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(keeps)}});
  return {ranked(of_kind(y, operand_kind::real), keeps ? x.rank : plus(x.rank, axes.size(), -1))};
}
operand mean_along(graph& to, operand const& x, whole_numbers const& axes, bool keeps) {
  auto const y = to.emit("Mean", {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(keeps)}});
  return ranked(y, keeps ? x.rank : plus(x.rank, axes.size(), -1));
}
operand variance_along(graph& to, operand const& x, whole_numbers const& axes, bool keeps) {
  auto const d = to.emit("Sub", {x, mean_along(to, x, axes, true)});
  return mean_along(to, to.emit("Mul", {d, d}), axes, keeps);
}
operator_writer variance(bool takes_root) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = of_kind(to.as_real(in.tensor(0)), operand_kind::real);
    auto const axes = axes_of(in, 1, x);
    auto const y = variance_along(to, x, axes, in.truth(2, false));
    return {takes_root ? to.emit("Sqrt", {y}) : y};
  };
}
operands log_sum_exp(graph& to, arguments& in) {
  auto const x = of_kind(to.as_real(in.tensor(0)), operand_kind::real);
  auto const axes = axes_of(in, 1, x);
  bool const keeps = in.truth(2, false);
  auto const most = to.emit("Max", {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(true)}});
  auto const sum = to.emit("Sum", {to.emit("Exp", {to.emit("Sub", {x, most})}), to.whole_list(axes)},
                           {{"keep_dims", truth_attribute_of(true)}});
  auto const y = ranked(to.emit("AddV2", {to.emit("Log", {sum}), most}), x.rank);
  if (keeps) return {y};
  return {ranked(to.emit("Squeeze", {y}, {{"squeeze_dims", list_attribute_of(axes)}}), plus(x.rank, axes.size(), -1))};
}
operator_writer all_or_any(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_truth(in.tensor(0));
    auto const axes = axes_of(in, 1, x);
    bool const keeps = in.truth(2, false);
    auto const y = to.emit(type, {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(keeps)}});
    return {ranked(of_kind(y, operand_kind::truth), keeps ? x.rank : plus(x.rank, axes.size(), -1))};
  };
}
operator_writer place_of(char const* type, bool has_keepdims) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    auto const axis = in.integers(1);
    if (!axis || axis->size() != 1) throw unsupported("has no axis");
    if (has_keepdims && in.truth(2, false)) throw unsupported("keeps the axis");
    if (!has_keepdims) static_cast<void>(in.text(2, ""));
    auto const y = to.emit(type, {x, to.whole_list(*axis)});
    auto const number =
        to.emit("Cast", {y}, {{"SrcT", type_attribute_of(type_of_ints)}, {"DstT", type_attribute_of(type_of_floats)}});
    return {ranked(of_kind(number, operand_kind::whole), plus(x.rank, 1, -1))};
  };
}
operator_writer running(char const* type) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    auto const axis = in.integers(1).value_or(whole_numbers{0});
    if (axis.size() != 1) throw unsupported("has several axes");
    return {to.emit(
        type, {x, to.whole_number(axis[0])},
        {{"exclusive", truth_attribute_of(in.truth(2, false))}, {"reverse", truth_attribute_of(in.truth(3, false))}})};
  };
}
/// x / sqrt(max(sum(x^2), epsilon)): tf.math.l2_normalize. With `of_norms`, x / max(norm, epsilon):
/// keras.ops.normalize.
operator_writer normalized(bool of_norms) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = to.as_real(in.tensor(0));
    auto const axes = of_norms ? whole_numbers{in.integer(1, -1)} : axes_of(in, 1, x);
    if (of_norms && in.real(2, 2) != 2) throw unsupported("has another order than 2");
    auto const least = in.real(of_norms ? 3 : 2, 1e-12);
    auto const sum =
        to.emit("Sum", {to.emit("Square", {x}), to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(true)}});
    if (of_norms) return {to.emit("RealDiv", {x, to.emit("Maximum", {to.emit("Sqrt", {sum}), to.real_number(least)})})};
    return {to.emit("Mul", {x, to.emit("Rsqrt", {to.emit("Maximum", {sum, to.real_number(least)})})})};
  };
}
operands norm(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  auto const& order = in.at(1);
  if (!order.is_null() && order != "euclidean" && order != 2) throw unsupported("has another order than the Euclidean");
  auto const axes = axes_of(in, 2, x);
  if (axes.size() > 1 && order == 2) throw unsupported("is a norm of matrices");
  bool const keeps = in.truth(3, false);
  auto const y = to.emit("EuclideanNorm", {x, to.whole_list(axes)}, {{"keep_dims", truth_attribute_of(keeps)}});
  return {ranked(y, keeps ? x.rank : plus(x.rank, axes.size(), -1))};
}

}  // namespace

void add_reductions(table& to) {
  add(to, "keras.Mean", "x axis keepdims", mean);
  add(to, "tf.math.reduce_mean", "input_tensor axis keepdims", reduction("Mean", false));
  struct row {
    char const *keras, *tensorflow, *type;
  };
  for (auto const& each : {row{"Sum", "math.reduce_sum", "Sum"}, row{"Max", "math.reduce_max", "Max"},
                           row{"Min", "math.reduce_min", "Min"}, row{"Prod", "math.reduce_prod", "Prod"},
                           row{"Amax", "amax", "Max"}, row{"Amin", "amin", "Min"}}) {
    add(to, "keras." + std::string(each.keras), "x axis keepdims", reduction(each.type, true));
    add(to, "tf." + std::string(each.tensorflow), "input_tensor axis keepdims", reduction(each.type, true));
  }
  add(to, "keras.Var", "x axis keepdims", variance(false)), add(to, "keras.Std", "x axis keepdims", variance(true));
  add(to, "tf.math.reduce_variance", "input_tensor axis keepdims", variance(false));
  add(to, "tf.math.reduce_std", "input_tensor axis keepdims", variance(true));
  add(to, "keras.Logsumexp", "x axis keepdims", log_sum_exp);
  add(to, "tf.math.reduce_logsumexp", "input_tensor axis keepdims", log_sum_exp);
  add(to, "keras.All", "x axis keepdims", all_or_any("All")),
      add(to, "keras.Any", "x axis keepdims", all_or_any("Any"));
  add(to, "tf.math.reduce_all", "input_tensor axis keepdims", all_or_any("All"));
  add(to, "tf.math.reduce_any", "input_tensor axis keepdims", all_or_any("Any"));
  add(to, "keras.Argmax", "x axis keepdims", place_of("ArgMax", true));
  add(to, "keras.Argmin", "x axis keepdims", place_of("ArgMin", true));
  add(to, "tf.math.argmax", "input axis output_type", place_of("ArgMax", false));
  add(to, "tf.math.argmin", "input axis output_type", place_of("ArgMin", false));
  add(to, "tf.math.cumsum", "x axis exclusive reverse", running("Cumsum"));
  add(to, "tf.math.cumprod", "x axis exclusive reverse", running("Cumprod"));
  add(to, "keras.Cumsum", "x axis", running("Cumsum")), add(to, "keras.Cumprod", "x axis", running("Cumprod"));
  add(to, "tf.math.l2_normalize", "x axis epsilon", normalized(false));
  add(to, "keras.Normalize", "x axis order epsilon", normalized(true));
  add(to, "tf.norm", "tensor ord axis keepdims", norm), add(to, "keras.Norm", "x ord axis keepdims", norm);
}

int rank_of(operand const& x) {
  if (!x.rank) throw unsupported("is given a tensor whose number of axes does not follow from the file");
  return *x.rank;
}

std::int64_t from_front(std::int64_t axis, operand const& x) { return axis < 0 ? axis + rank_of(x) : axis; }

whole_numbers all_axes(operand const& x) {
  whole_numbers all(static_cast<std::size_t>(rank_of(x)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

whole_numbers axes_of(arguments& in, std::size_t place, operand const& x) {
  auto given = in.integers(place);
  return given ? *std::move(given) : all_axes(x);
}

}  // namespace stagecraft::tool::operator_words

namespace stagecraft::tool {

std::map<std::string, written_operator, std::less<>> const& written_operators() {
  static auto const all = [] {
    operator_words::table result;
    operator_words::add_elementwise(result);
    operator_words::add_reductions(result);
    operator_words::add_movement(result);
    return result;
  }();
  return all;
}

}  // namespace stagecraft::tool
