// SPDX-License-Identifier: BSD-3-Clause
// Which operations elementwise activations and their gradients consist of: popnn's vertices where there are any, else
// popops' maps.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/ipu/vertices/map_work.hpp>

namespace stagecraft::tiles {

/// Whether a relu is that of popnn.
[[nodiscard]] constexpr bool is_plain_relu(activation const& function) noexcept {
  return function.alpha == 0 && function.max_value < 0 && function.threshold == 0;
}

constexpr void add_relu(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  if (is_plain_relu(function)) return work.non_linearity(vertices::non_linearity_type::relu, in_place);
  if (function.threshold == 0) {
    work.scalar(maximum, in_place);
  } else {  // x times whether it is greater
    work.scalar(greater_than, false);
    work.binary(multiply);
  }
  if (function.max_value >= 0) work.scalar(minimum);
  if (function.alpha == 0) return;
  // alpha times min(x - threshold, 0)
  if (function.threshold != 0) work.scalar(subtract, false);
  work.scalar(minimum, function.threshold != 0);
  work.scaled_add(vertices::scaled_operation::add, work.type);
}

constexpr void add_activation(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  using unary = vertices::unary_operation;
  using known = vertices::non_linearity_type;
  switch (function.kind) {
    case activation_kind::relu: return add_relu(work, function, in_place);
    case activation_kind::sigmoid: return work.non_linearity(known::sigmoid, in_place);
    case activation_kind::tanh: return work.non_linearity(known::tanh, in_place);
    case activation_kind::gelu: return work.non_linearity(known::gelu_erf, in_place);
    case activation_kind::gelu_tanh: return work.non_linearity(known::gelu, in_place);
    case activation_kind::swish: return work.non_linearity(known::swish, in_place);
    case activation_kind::selu:  // a multiple of elu
    case activation_kind::elu:   // max(x, 0) + alpha (exp(min(x, 0)) - 1)
      work.scalar(minimum, false);
      work.unary(unary::exponent_minus_one);
      work.scalar(maximum, in_place);
      work.scaled_add(vertices::scaled_operation::add, work.type);
      if (function.kind == activation_kind::selu) work.scalar(multiply);
      return;
    case activation_kind::exponential: return work.unary(unary::exponent, in_place);
    case activation_kind::softplus:  // max(x, 0) + log(1 + exp(-|x|))
      work.unary(unary::absolute, false);
      work.unary(unary::negate);
      work.unary(unary::exponent);
      work.unary(unary::logarithm_one_plus);
      work.scalar(maximum, in_place);
      return work.binary(add);
    case activation_kind::softsign:  // x / (1 + |x|)
      work.unary(unary::absolute, false);
      work.scalar(add);
      return work.binary(divide, in_place);
    case activation_kind::hard_sigmoid:  // min(max(x / 5 + 1/2, 0), 1)
      work.scalar(multiply, in_place);
      work.scalar(add);
      work.scalar(maximum);
      return work.scalar(minimum);
    default: return work.copy(work.type);
  }
}

constexpr void add_activation_gradient(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  using unary = vertices::unary_operation;
  using known = vertices::non_linearity_type;
  switch (function.kind) {
    case activation_kind::relu:
      if (is_plain_relu(function)) return work.non_linearity_gradient(known::relu);
      work.scalar(greater_than, false);
      if (function.max_value >= 0) {  // and not above the limit
        work.scalar(greater_than, false);
        work.binary(multiply);
      }
      if (function.alpha != 0) {  // 1 or alpha in place of 1 or 0
        if (function.max_value >= 0 || function.threshold != 0) work.scalar(greater_than, false);
        work.scalar(multiply);
        work.scalar(add);
      }
      return work.binary(multiply, in_place);
    case activation_kind::sigmoid: return work.non_linearity_gradient(known::sigmoid);
    case activation_kind::tanh: return work.non_linearity_gradient(known::tanh);
    case activation_kind::gelu: return work.non_linearity_gradient(known::gelu_erf);
    case activation_kind::gelu_tanh: return work.non_linearity_gradient(known::gelu);
    case activation_kind::swish: return work.non_linearity_gradient(known::swish);
    case activation_kind::selu:
    case activation_kind::elu:  // scale where y > 0, else y + alpha, which follows from x by an exponential
      if (function.gradient_needs_input()) {
        work.unary(unary::exponent, false);
        work.scalar(multiply);
      } else {
        work.scalar(add, false);
      }
      work.scalar(greater_than, false);
      work.binary(subtract);  // the difference of both, chosen by a product
      work.binary(multiply);
      work.binary(add);
      return work.binary(multiply, in_place);
    case activation_kind::exponential: return work.binary(multiply, in_place);
    case activation_kind::softplus:  // -dy (exp(-y) - 1)
      work.unary(unary::negate, false);
      work.unary(unary::exponent_minus_one);
      work.unary(unary::negate);
      return work.binary(multiply, in_place);
    case activation_kind::softsign:  // dy (1 - |y|)^2
      work.unary(unary::absolute, false);
      work.scalar(subtract);
      work.unary(unary::square);
      return work.binary(multiply, in_place);
    case activation_kind::hard_sigmoid:  // dy / 5 where |x| <= 5/2
      work.unary(unary::absolute, false);
      work.scalar(greater_than);
      work.scalar(multiply);
      return work.binary(multiply, in_place);
    default: return work.copy(work.type);
  }
}

}  // namespace stagecraft::tiles
