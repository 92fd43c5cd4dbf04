// SPDX-License-Identifier: BSD-3-Clause
// Which of popops' operations carry out the functions that a `call` uses.
#pragma once

#include <stagecraft/ipu/cycles/binary_op.hpp>
#include <stagecraft/ipu/cycles/unary_op.hpp>
#include <stagecraft/operations/kinds/map.hpp>

namespace stagecraft::tiles {

[[nodiscard]] constexpr vertices::unary_operation unary_of(operations::function f) noexcept {
  using operations::function;
  using enum vertices::unary_operation;
  switch (f) {
    case function::negative: return negate;
    case function::absolute: return absolute;
    case function::sign: return signum;
    case function::exp: return exponent;
    case function::log: return logarithm;
    case function::softplus: return logarithm_one_plus;  // behind an exponent
    case function::sqrt: return vertices::unary_operation::sqrt;
    case function::rsqrt: return vertices::unary_operation::rsqrt;
    case function::sin: return vertices::unary_operation::sin;
    case function::cos: return vertices::unary_operation::cos;
    case function::tanh: return vertices::unary_operation::tanh;
    case function::sigmoid: return vertices::unary_operation::sigmoid;
    case function::erf: return vertices::unary_operation::erf;
    default: return vertices::unary_operation::floor;
  }
}
[[nodiscard]] constexpr vertices::binary_operation binary_of(operations::function f) noexcept {
  using operations::function;
  using enum vertices::binary_operation;
  switch (f) {
    case function::subtract: return subtract;
    case function::multiply: return multiply;
    case function::divide: return divide;
    case function::power: return power;
    case function::maximum: return maximum;
    case function::minimum: return minimum;
    case function::less:
    case function::less_equal: return greater_than;
    case function::equal: return vertices::binary_operation::equal;
    default: return vertices::binary_operation::add;
  }
}

}  // namespace stagecraft::tiles
