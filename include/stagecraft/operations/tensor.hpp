// SPDX-License-Identifier: BSD-3-Clause
// Operators and functions of the results of operations: each appends operations to its operands' list.
#pragma once

#include <stagecraft/operations/tensor_value.hpp>
#include <stagecraft/operations/whole_numbers.hpp>
#include <array>
#include <cstddef>
#include <type_traits>

namespace stagecraft::operations {

/// Results of a scan: each state after all trips, along the axis that it ran over, and after the last one.
template <std::size_t States>
struct scanned {
  std::array<tensor, States> all{};   ///< each state after all trips, along the axis
  std::array<tensor, States> last{};  ///< each state after the last trip
};

// Operators and functions of tensors. A plain number counts as a tensor of that number.
constexpr tensor operator-(tensor a) { return apply(function::negative, a); }
constexpr tensor operator+(tensor a, tensor b) { return apply(function::add, a, b); }
template <Number N>
constexpr tensor operator+(tensor a, N b) {
  return a + number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator+(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) + b;
}
constexpr tensor operator-(tensor a, tensor b) { return apply(function::subtract, a, b); }
template <Number N>
constexpr tensor operator-(tensor a, N b) {
  return a - number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator-(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) - b;
}
constexpr tensor operator*(tensor a, tensor b) { return apply(function::multiply, a, b); }
template <Number N>
constexpr tensor operator*(tensor a, N b) {
  return a * number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator*(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) * b;
}
constexpr tensor operator/(tensor a, tensor b) { return apply(function::divide, a, b); }
template <Number N>
constexpr tensor operator/(tensor a, N b) {
  return a / number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator/(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) / b;
}
constexpr tensor operator<(tensor a, tensor b) { return apply(function::less, a, b); }
template <Number N>
constexpr tensor operator<(tensor a, N b) {
  return a < number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator<(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) < b;
}
constexpr tensor operator<=(tensor a, tensor b) { return apply(function::less_equal, a, b); }
template <Number N>
constexpr tensor operator<=(tensor a, N b) {
  return a <= number_beside(a, static_cast<double>(b), std::is_integral_v<N>);
}
template <Number N>
constexpr tensor operator<=(N a, tensor b) {
  return number_beside(b, static_cast<double>(a), std::is_integral_v<N>) <= b;
}
constexpr tensor operator>(tensor a, tensor b) { return b < a; }
template <Number N>
constexpr tensor operator>(tensor a, N b) {
  return b < a;
}
template <Number N>
constexpr tensor operator>(N a, tensor b) {
  return b < a;
}
constexpr tensor operator>=(tensor a, tensor b) { return b <= a; }
template <Number N>
constexpr tensor operator>=(tensor a, N b) {
  return b <= a;
}
template <Number N>
constexpr tensor operator>=(N a, tensor b) {
  return b <= a;
}
constexpr tensor& operator+=(tensor& a, tensor b) { return a = a + b; }
template <Number N>
constexpr tensor& operator+=(tensor& a, N b) {
  return a = a + b;
}
constexpr tensor& operator-=(tensor& a, tensor b) { return a = a - b; }
template <Number N>
constexpr tensor& operator-=(tensor& a, N b) {
  return a = a - b;
}
constexpr tensor& operator*=(tensor& a, tensor b) { return a = a * b; }
template <Number N>
constexpr tensor& operator*=(tensor& a, N b) {
  return a = a * b;
}
constexpr tensor& operator/=(tensor& a, tensor b) { return a = a / b; }
template <Number N>
constexpr tensor& operator/=(tensor& a, N b) {
  return a = a / b;
}

constexpr tensor equal(tensor a, tensor b) { return apply(function::equal, a, b); }
template <std::integral N>
constexpr tensor equal(tensor a, N b) {
  return equal(a, number_beside(a, static_cast<double>(b), true));
}
constexpr tensor equal(tensor a, float b) { return equal(a, number(*a.list, b)); }
constexpr tensor not_equal(tensor a, tensor b) { return equal(equal(a, b), 0.0F); }
template <std::integral N>
constexpr tensor not_equal(tensor a, N b) {
  return not_equal(a, number_beside(a, static_cast<double>(b), true));
}
constexpr tensor not_equal(tensor a, float b) { return not_equal(a, number(*a.list, b)); }
/// The larger of two, element by element; NaN if one of them is NaN.
constexpr tensor maximum(tensor a, tensor b) { return apply(function::maximum, a, b); }
template <std::integral N>
constexpr tensor maximum(tensor a, N b) {
  return maximum(a, number_beside(a, static_cast<double>(b), true));
}
constexpr tensor maximum(tensor a, float b) { return maximum(a, number(*a.list, b)); }
constexpr tensor maximum(float a, tensor b) { return maximum(number(*b.list, a), b); }
/// The smaller of two, element by element; NaN if one of them is NaN.
constexpr tensor minimum(tensor a, tensor b) { return apply(function::minimum, a, b); }
template <std::integral N>
constexpr tensor minimum(tensor a, N b) {
  return minimum(a, number_beside(a, static_cast<double>(b), true));
}
constexpr tensor minimum(tensor a, float b) { return minimum(a, number(*a.list, b)); }
constexpr tensor minimum(float a, tensor b) { return minimum(number(*b.list, a), b); }
constexpr tensor pow(tensor a, tensor b) { return apply(function::power, a, b); }
constexpr tensor pow(tensor a, float b) { return pow(a, number(*a.list, b)); }
constexpr tensor pow(float a, tensor b) { return pow(number(*b.list, a), b); }
/// a - b trunc(a / b), exactly, with the sign of a: C's fmod. `mod` has the sign of b.
constexpr tensor fmod(tensor a, tensor b) { return apply(function::remainder, a, b); }
constexpr tensor fmod(tensor a, float b) { return fmod(a, number(*a.list, b)); }
/// a where `condition` is not 0, else b: Keras's `ops.where`.
constexpr tensor where(tensor condition, tensor a, tensor b) { return apply(function::select, condition, a, b); }
constexpr tensor where(tensor condition, float a, tensor b) { return where(condition, number(*b.list, a), b); }
constexpr tensor where(tensor condition, tensor a, float b) { return where(condition, a, number(*a.list, b)); }
constexpr tensor where(tensor condition, float a, float b) { return where(condition, number(*condition.list, a), b); }

constexpr tensor abs(tensor a) { return apply(function::absolute, a); }
constexpr tensor sign(tensor a) { return apply(function::sign, a); }
constexpr tensor floor(tensor a) { return apply(function::floor, a); }
/// The nearest whole number; the even one of two that are equally near.
constexpr tensor round(tensor a) { return apply(function::round, a); }
constexpr tensor exp(tensor a) { return apply(function::exp, a); }
constexpr tensor log(tensor a) { return apply(function::log, a); }
constexpr tensor log1p(tensor a) { return apply(function::log1p, a); }
constexpr tensor softplus(tensor a) { return apply(function::softplus, a); }
constexpr tensor sqrt(tensor a) { return apply(function::sqrt, a); }
constexpr tensor rsqrt(tensor a) { return apply(function::rsqrt, a); }
constexpr tensor sin(tensor a) { return apply(function::sin, a); }
constexpr tensor cos(tensor a) { return apply(function::cos, a); }
constexpr tensor atan(tensor a) { return apply(function::atan, a); }
constexpr tensor tanh(tensor a) { return apply(function::tanh, a); }
constexpr tensor sigmoid(tensor a) { return apply(function::sigmoid, a); }
constexpr tensor erf(tensor a) { return apply(function::erf, a); }
constexpr tensor square(tensor a) { return a * a; }

/// The value of `a`; no gradient flows through it.
constexpr tensor stop_gradient(tensor a) {
  tensor const result = apply(function::identity, a);
  result.list->node_of(result.id).has_gradient = false;
  return result;
}

/// Options of `ops.gradient`.
struct gradient_options {
  /// The upstream gradient of y, of its shape: the result is the gradient of the sum of `upstream * y`. Default: ones.
  tensor upstream{};
};

}  // namespace stagecraft::operations

namespace stagecraft {

// Layers have these names, too, and `using namespace stagecraft::layers` hides the functions from unqualified calls.
using operations::maximum;
using operations::minimum;

}  // namespace stagecraft
