// SPDX-License-Identifier: BSD-3-Clause
// Activation functions of the tensors of a layer's `call`, in terms of operations: each is a composite that a machine
// may know, with a gradient that follows from its result where that suffices.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composite_gradient.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::activations::detail {

inline constexpr int activation_kinds = static_cast<int>(activation_kind::hard_sigmoid) + 1;
inline constexpr float selu_slope = 1.0507009873554805F, selu_depth = 1.6732632423543772F;

/// Keras's names, and one for each of the two forms of gelu.
constexpr std::string_view composite_name(activation const& f) {
  return f.kind == activation_kind::gelu_tanh ? "gelu_tanh" : f.name();
}
/// The activation that a composite is, or whose gradient it is; linear if it is none.
constexpr activation activation_of(operations::composite const& group) {
  for (int kind = 1; kind < activation_kinds; ++kind) {
    auto const f = activation::of(activation_kind(kind), group.numbers[0], group.numbers[1], group.numbers[2]);
    if ((group.rule != nullptr || group.is_gradient) && group.name == composite_name(f)) return f;
  }
  return linear;
}

constexpr operations::tensor relu_value(activation const& f, operations::tensor x) {
  if (f.threshold == 0 && f.max_value < 0)
    return f.alpha == 0 ? operations::maximum(x, 0.0F) : where(x > 0.0F, x, x * f.alpha);
  auto y = where(x <= f.threshold, 0.0F, x);
  if (f.max_value >= 0) y = operations::minimum(operations::maximum(y, 0.0F), f.max_value);
  return f.alpha == 0 ? y : where(x < f.threshold, y + (x - f.threshold) * f.alpha, y);
}
/// At a corner, the gradient is TensorFlow's. `known` is the input where the output does not suffice.
constexpr operations::tensor relu_gradient(activation const& f, operations::tensor known, operations::tensor dy) {
  if (f.threshold == 0 && f.max_value < 0)
    return f.alpha == 0 ? where(known > 0.0F, dy, 0.0F) : where(known > 0.0F, dy, dy * f.alpha);
  auto passes = known > f.threshold;
  if (f.max_value == 6 && f.threshold == 0)
    passes = passes * (known < 6.0F);
  else if (f.max_value >= 0)
    passes = passes * (known >= 0.0F) * (known <= f.max_value);
  auto const dx = where(passes, dy, 0.0F);
  return f.alpha == 0 ? dx : where(known < f.threshold, dx + dy * f.alpha, dx);
}

constexpr operations::tensor gelu_gate(operations::tensor x) { return erf(x * 0.707106781F) * 0.5F + 0.5F; }
constexpr operations::tensor gelu_tanh_gate(operations::tensor x) {
  return operations::sigmoid((x + x * x * x * 0.044715F) * 1.59576912F);
}

constexpr operations::tensor activation_value(activation const& f, operations::tensor x) {
  switch (f.kind) {
    case activation_kind::relu: return relu_value(f, x);
    case activation_kind::sigmoid: return operations::sigmoid(x);
    case activation_kind::tanh: return operations::tanh(x);
    case activation_kind::gelu: return x * gelu_gate(x);
    case activation_kind::gelu_tanh: return x * gelu_tanh_gate(x);
    case activation_kind::swish: return x * operations::sigmoid(x);
    case activation_kind::selu: return where(x < 0.0F, (exp(x) - 1.0F) * (selu_slope * selu_depth), x * selu_slope);
    case activation_kind::elu: return where(x < 0.0F, (exp(x) - 1.0F) * f.alpha, x);
    case activation_kind::exponential: return exp(x);
    case activation_kind::softplus: return operations::softplus(x);
    case activation_kind::softsign: return x / (abs(x) + 1.0F);
    case activation_kind::hard_sigmoid: return operations::minimum(operations::maximum(x * 0.2F + 0.5F, 0.0F), 1.0F);
    default: return x;
  }
}

/// f' dy, where `known` is x if `f.gradient_needs_input()`, f(x) otherwise.
constexpr operations::tensor activation_gradient(activation const& f, operations::tensor known, operations::tensor dy) {
  switch (f.kind) {
    case activation_kind::relu: return relu_gradient(f, known, dy);
    case activation_kind::sigmoid: return dy * known * (1.0F - known);
    case activation_kind::tanh: return dy * (1.0F - known * known);
    case activation_kind::gelu: return dy * (known * (exp(known * known * -0.5F) * 0.398942280F) + gelu_gate(known));
    case activation_kind::gelu_tanh: {
      auto const gate = gelu_tanh_gate(known);
      auto const slope = (known * known * (3 * 0.044715F) + 1.0F) * 1.59576912F;
      return dy * (known * gate * (1.0F - gate) * slope + gate);
    }
    case activation_kind::swish: {
      auto const gate = operations::sigmoid(known);
      return dy * (known * gate * (1.0F - gate) + gate);
    }
    case activation_kind::selu: return dy * where(known < 0.0F, known + selu_slope * selu_depth, selu_slope);
    case activation_kind::elu:
      return dy * where(known > 0.0F, 1.0F, f.gradient_needs_input() ? exp(known) * f.alpha : known + f.alpha);
    case activation_kind::exponential: return dy * known;
    case activation_kind::softplus: return dy * (1.0F - exp(-known));
    case activation_kind::softsign: {
      auto const rest = 1.0F - abs(known);
      return dy * rest * rest;
    }
    case activation_kind::hard_sigmoid: return where(abs(known) <= 2.5F, dy * 0.2F, 0.0F);
    default: return dy;
  }
}
constexpr void activation_rule(operations::composite_gradient& of) {
  auto const f = activation_of(of.what());
  auto const known = f.gradient_needs_input() ? of.read(0) : of.result(), dy = of.gradient();
  of.give(0, of.ops().composite(
                 composite_name(f), {known, dy}, [&] { return activation_gradient(f, known, dy); }, nullptr,
                 {f.alpha, f.max_value, f.threshold}, true));
}

}  // namespace stagecraft::activations::detail

namespace stagecraft {

constexpr operations::tensor activation::operator()(operations::tensor x) const {
  tracing::growing_array<parameter> no_weights;
  operations::tracer ops(*x.list, no_weights);
  if (kind == activation_kind::linear) return x;
  if (kind == activation_kind::softmax) return ops.softmax(x);
  if (kind == activation_kind::own) return rules->call(options, x);
  return ops.composite(detail::composite_name(*this), {x}, [&] { return detail::activation_value(*this, x); },
                       detail::activation_rule, {alpha, max_value, threshold});
}

}  // namespace stagecraft
