// SPDX-License-Identifier: BSD-3-Clause
// Elementwise activations and their gradients, one number at a time, as the host's kernels define them. Level 5.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <cmath>

namespace stagecraft::detail {

[[nodiscard]] inline double sigmoid_value(double x) noexcept { return 1 / (1 + std::exp(-x)); }
/// The part of x that gelu lets through, by tanh: a sigmoid.
[[nodiscard]] inline double gelu_tanh_gate(double x) noexcept {
  return sigmoid_value(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x));
}
[[nodiscard]] inline double normal_distribution_value(double x) noexcept {
  return 0.5 * std::erfc(-0.7071067811865476 * x);
}

/// Min(x, 0) and the like let a NaN through.
[[nodiscard]] inline float relu_value(activation const& function, float x) noexcept {
  if (std::isnan(x)) return x;
  if (function.threshold == 0 && function.max_value < 0)
    return x > 0 ? x : function.alpha == 0 ? 0 : function.alpha * x;
  float y = x <= function.threshold ? 0 : x;
  if (function.max_value >= 0) y = y < 0 ? 0 : y > function.max_value ? function.max_value : y;
  if (function.alpha != 0 && x < function.threshold) y = y + function.alpha * (x - function.threshold);
  return y;
}

/// Where the limit counts as inside is TensorFlow's choice (activation::gradient_needs_input).
[[nodiscard]] inline float relu_gradient_value(activation const& function, float saved, float dy) noexcept {
  if (function.threshold == 0 && function.max_value < 0) return saved > 0 ? dy : function.alpha * dy;
  bool passes = saved > function.threshold;
  if (function.max_value == 6 && function.threshold == 0)
    passes = passes && saved < 6;
  else if (function.max_value >= 0)
    passes = passes && saved >= 0 && saved <= function.max_value;
  float const dx = passes ? dy : 0;
  return function.alpha != 0 && saved < function.threshold ? dx + function.alpha * dy : dx;
}

inline constexpr double selu_scale = 1.0507009873554805, selu_alpha = 1.6732632423543772;

/// f(x); every function but relu and hard_sigmoid in double, rounded at the end.
[[nodiscard]] inline float activation_value(activation const& function, float x) noexcept {
  double const wide = x;
  double y = wide;
  switch (function.kind) {
    case activation_kind::relu: return relu_value(function, x);
    case activation_kind::sigmoid: y = sigmoid_value(wide); break;
    case activation_kind::tanh: y = std::tanh(wide); break;
    case activation_kind::gelu: y = wide * normal_distribution_value(wide); break;
    case activation_kind::gelu_tanh: y = wide * gelu_tanh_gate(wide); break;
    case activation_kind::swish: y = wide * sigmoid_value(wide); break;
    case activation_kind::selu: y = selu_scale * (wide < 0 ? selu_alpha * std::expm1(wide) : wide); break;
    case activation_kind::elu: y = wide < 0 ? function.alpha * std::expm1(wide) : wide; break;
    case activation_kind::exponential: y = std::exp(wide); break;
    case activation_kind::softplus: y = (wide < 0 ? 0 : wide) + std::log1p(std::exp(-std::fabs(wide))); break;
    case activation_kind::softsign: y = wide / (1 + std::fabs(wide)); break;
    case activation_kind::hard_sigmoid: {
      float const line = x / 5.0F + 0.5F;
      return line < 0 ? 0.0F : line > 1 ? 1.0F : line;
    }
    default: break;
  }
  return static_cast<float>(y);
}

/// f' dy, where `saved` is x if function.gradient_needs_input(), else f(x).
[[nodiscard]] inline float activation_gradient_value(activation const& function, float saved, float dy) noexcept {
  double const s = saved;
  double slope = 1;
  switch (function.kind) {
    case activation_kind::relu: return relu_gradient_value(function, saved, dy);
    case activation_kind::sigmoid: slope = s * (1 - s); break;
    case activation_kind::tanh: slope = 1 - s * s; break;
    case activation_kind::gelu:
      slope = normal_distribution_value(s) + s * 0.3989422804014327 * std::exp(-0.5 * s * s);
      break;
    case activation_kind::gelu_tanh: {
      double const gate = gelu_tanh_gate(s);
      slope = gate + s * gate * (1 - gate) * 2 * 0.7978845608028654 * (1 + 3 * 0.044715 * s * s);
      break;
    }
    case activation_kind::swish: {
      double const gate = sigmoid_value(s);
      slope = gate + s * gate * (1 - gate);
      break;
    }
    case activation_kind::selu: slope = s < 0 ? s + selu_scale * selu_alpha : selu_scale; break;
    case activation_kind::elu:
      slope = s > 0 ? 1 : function.gradient_needs_input() ? function.alpha * std::exp(s) : s + function.alpha;
      break;
    case activation_kind::exponential: slope = s; break;
    case activation_kind::softplus: slope = -std::expm1(-s); break;
    case activation_kind::softsign: slope = (1 - std::fabs(s)) * (1 - std::fabs(s)); break;
    case activation_kind::hard_sigmoid: return std::fabs(saved) <= 2.5F ? 0.2F * dy : 0.0F;
    default: break;
  }
  return static_cast<float>(dy * slope);
}

}  // namespace stagecraft::detail
