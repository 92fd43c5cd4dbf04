// SPDX-License-Identifier: BSD-3-Clause
// The result of an operation, as a layer's `call` sees it: operators and functions append operations to its list.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace stagecraft::operations::detail {

/// E1139.
template <class>
inline constexpr diagnostic tensor_as_number_problem = [] {
  diagnostic problem;
  problem.report(
      1139,
      "a tensor of a call(...) is used as a number, which it is not yet: in place of std::exp(x) and "
      "its like write exp(x), in place of `?:`, `if` and std::max write where(condition, a, b) and maximum(a, b)");
  return problem;
}();

}  // namespace stagecraft::operations::detail

namespace stagecraft::operations {

/// Types that C++ calls arithmetic.
template <class T>
concept Number = std::is_arithmetic_v<T>;

/// A value that does not exist yet: a number in a list of operations. Copies are the same value.
struct tensor {
  operation_list* list = nullptr;
  int id = -1;

  [[nodiscard]] constexpr operations::node const& node() const { return list->node_of(id); }
  /// All its extents, the batch among them.
  [[nodiscard]] constexpr extents shape() const { return node().shape; }  // a copy: the list moves when it grows
  [[nodiscard]] constexpr int rank() const { return shape().rank; }
  /// The type of its elements.
  [[nodiscard]] constexpr dtype type() const { return node().type; }
  /// Length of an axis, counted from the end if negative. E1070 for one that it does not have.
  [[nodiscard]] constexpr int length(int axis) const {
    if (shape().has(axis)) return shape()[axis];
    list->fail("axis ", axis, " of a tensor of shape ", shape(), " does not exist");
    return 1;
  }

  /// Conversions that std::exp and conditions ask for: E1139, where GCC sees it first.
  template <class T>
    requires(std::is_same_v<T, double> || std::is_same_v<T, bool>)
  constexpr explicit(std::is_same_v<T, bool>) operator T() const
      noexcept(detail::report<detail::tensor_as_number_problem<T>>()) {
    return {};
  }
};

/// Results of a scan: each state after all trips, along the axis that it ran over, and after the last one.
template <std::size_t States>
struct scanned {
  std::array<tensor, States> all{};   ///< each state after all trips, along the axis
  std::array<tensor, States> last{};  ///< each state after the last trip
};

/// The number `value`, wherever it is needed.
constexpr tensor number(operation_list& list, float value) { return {&list, list.append(constant{value}, {})}; }
/// The number `value` as an operand beside a: int32 if a is, and `value` is written as a whole number; else a float.
/// E1188 for one that int32 does not have.
constexpr tensor number_beside(tensor a, double value, bool is_integral);
/// f of operands some of which are int32: see operations/whole_numbers.hpp.
constexpr tensor apply_to_whole(function f, std::initializer_list<tensor> of);

/// f at each place. E1070 if the extents do not broadcast.
template <std::same_as<tensor>... More>
constexpr tensor apply(function f, tensor a, More... more) {
  extents out = a.shape();
  for (tensor const other : {a, more...}) {
    if (other.type() == dtype::int32) return apply_to_whole(f, {a, more...});
    if (out.broadcast_with(other.shape())) continue;
    a.list->fail("shapes ", out, " and ", other.shape(), " do not broadcast in '", name(f), "'");
    return a;
  }
  return {a.list, a.list->append(map{f}, out, {a.id, more.id...})};
}

// Operators and functions of numbers. A plain number counts as a tensor of it.
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
/// The nearest whole number; of two, the even one.
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
  tensor upstream{};  ///< gradient of y, of its shape: the result is that of the sum of `upstream * y`. Default: ones
};

}  // namespace stagecraft::operations

#include <stagecraft/operations/whole_numbers.hpp>

namespace stagecraft {

// Layers have these names, too, and `using namespace stagecraft::layers` hides the functions from unqualified calls.
using operations::maximum;
using operations::minimum;

}  // namespace stagecraft
