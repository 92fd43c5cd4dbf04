// SPDX-License-Identifier: BSD-3-Clause
// Activation functions of the tensors of a layer's `call`, in terms of operations. Level 2.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft {

namespace detail {

/// Keras's relu with all of its parameters; where it has a corner, the gradient is that of the left side.
constexpr operations::tensor call_relu(activation const& f, operations::tensor x) {
  auto const above = f.max_value >= 0 ? minimum(x, f.max_value) : x;
  if (f.alpha == 0) return where(x > f.threshold, above, 0.0F);
  return where(x > f.threshold, above, (x - f.threshold) * f.alpha);
}

}  // namespace detail

constexpr operations::tensor activation::operator()(operations::tensor x) const {
  std::vector<parameter> no_weights;
  operations::tracer ops(*x.list, no_weights);
  switch (kind) {
    case activation_kind::linear: return x;
    case activation_kind::relu: return detail::call_relu(*this, x);
    case activation_kind::softmax: return ops.softmax(x);
    case activation_kind::sigmoid: return operations::sigmoid(x);
    case activation_kind::tanh: return operations::tanh(x);
    case activation_kind::gelu: return x * (erf(x * 0.707106781F) * 0.5F + 0.5F);
    case activation_kind::gelu_tanh: return x * operations::sigmoid((x + x * x * x * 0.044715F) * 1.59576912F);
    case activation_kind::swish: return x * operations::sigmoid(x);
    case activation_kind::selu: return where(x < 0.0F, (exp(x) - 1.0F) * 1.75809934F, x * 1.05070099F);
    case activation_kind::elu: return where(x < 0.0F, (exp(x) - 1.0F) * alpha, x);
    case activation_kind::exponential: return exp(x);
    case activation_kind::softplus: return operations::softplus(x);
    case activation_kind::softsign: return x / (abs(x) + 1.0F);
    case activation_kind::hard_sigmoid: return minimum(maximum(x * 0.2F + 0.5F, 0.0F), 1.0F);
    case activation_kind::own: return own->call(options, x);
  }
  return x;
}

}  // namespace stagecraft
