// SPDX-License-Identifier: BSD-3-Clause
// Functions of numbers that are composed of those of a `map`. Their gradients, costs and vertices follow from these.
// Errors are in units in the last place of the correctly rounded result, measured with AVX-512 and SSE2 on random
// numbers of each function's domain.
#pragma once

#include <stagecraft/operations/tensor.hpp>
#include <concepts>

namespace stagecraft::operations {

/// True of `tensor` alone. Functions of a tensor are templates, so that programs that do not call them do not pay for
/// them.
template <class T>
concept OneTensor = std::same_as<T, tensor>;

// Comparisons and logic: results are 1 and 0; any number but 0 is true, NaN as well.
template <OneTensor Tensor>
constexpr Tensor logical_not(Tensor a) {
  return equal(a, 0.0F);
}
template <OneTensor Tensor>
constexpr Tensor logical_and(Tensor a, Tensor b) {
  return where(a, not_equal(b, 0.0F), 0.0F);
}
template <OneTensor Tensor>
constexpr Tensor logical_or(Tensor a, Tensor b) {
  return where(a, 1.0F, not_equal(b, 0.0F));
}
template <OneTensor Tensor>
constexpr Tensor logical_xor(Tensor a, Tensor b) {
  return not_equal(logical_not(a), logical_not(b));
}
/// 1 for NaN, else 0.
template <OneTensor Tensor>
constexpr Tensor isnan(Tensor a) {
  return logical_not(equal(a, a));
}
/// 1 for an infinite number of a sign that is asked for, else 0.
template <OneTensor Tensor>
constexpr Tensor isinf(Tensor a, bool positive = true, bool negative = true) {
  if (positive && negative) return equal(abs(a), __builtin_inff());
  return positive || negative ? equal(a, positive ? __builtin_inff() : -__builtin_inff()) : a < -__builtin_inff();
}
/// 1 for a number that is neither infinite nor NaN, else 0.
template <OneTensor Tensor>
constexpr Tensor isfinite(Tensor a) {
  return abs(a) < __builtin_inff();
}

// Whole numbers. The results are exact.
template <OneTensor Tensor>
constexpr Tensor ceil(Tensor a) {
  return -floor(-a);
}
/// The number without its fraction: rounded towards 0.
template <OneTensor Tensor>
constexpr Tensor trunc(Tensor a) {
  return where(a < 0.0F, ceil(a), floor(a));
}
/// a - b floor(a / b), with the sign of b: Python's `%`, and Keras's `mod`.
template <OneTensor Tensor>
constexpr Tensor mod(Tensor a, Tensor b) {
  Tensor const rest = fmod(a, b);
  return where(equal(rest < 0.0F, b < 0.0F), rest, where(rest, rest + b, rest));
}
template <OneTensor Tensor>
constexpr Tensor mod(Tensor a, float b) {
  return mod(a, number(*a.list, b));
}

/// minimum(maximum(a, least), most); it is `most` where the bounds are in the wrong order.
template <OneTensor Tensor>
constexpr Tensor clip(Tensor a, Tensor least, Tensor most) {
  return minimum(maximum(a, least), most);
}
template <OneTensor Tensor>
constexpr Tensor clip(Tensor a, float least, float most) {
  return minimum(maximum(a, least), most);
}
template <OneTensor Tensor>
constexpr Tensor reciprocal(Tensor a) {
  return 1.0F / a;
}

namespace detail {

/// |a| with a gradient of 1 at 0: for odd functions that are computed from |a|.
template <OneTensor Tensor>
constexpr Tensor size_of_odd(Tensor a) {
  return maximum(a, -a);
}
/// `value` with the sign of a, where `value` is the result of an odd function for |a|.
template <OneTensor Tensor>
constexpr Tensor with_sign(Tensor a, Tensor value) {
  return where(a < 0.0F, -value, value);
}
inline constexpr float ln2 = 0.693147181F;
/// The number from which on the roots of a^2 + 1 and a^2 - 1 round to a.
inline constexpr float large = 1e10F;

}  // namespace detail

/// e^a - 1, without a loss of digits near 0. Error: at most 2.9 ulp.
template <OneTensor Tensor>
constexpr Tensor expm1(Tensor a) {
  return tanh(a * 0.5F) * (exp(a) + 1.0F);
}

/// sin(a) / cos(a). Error: at most 3 ulp.
template <OneTensor Tensor>
constexpr Tensor tan(Tensor a) {
  return sin(a) / cos(a);
}
/// The angle in [-pi / 2, pi / 2] whose sine is a; NaN outside of [-1, 1]. Error: at most 3.1 ulp. The gradient at -1
/// and 1 is not finite.
template <OneTensor Tensor>
constexpr Tensor asin(Tensor a) {
  return atan(a / sqrt((1.0F - a) * (1.0F + a)));
}
/// The angle in [0, pi] whose cosine is a; NaN outside of [-1, 1]. Error: at most 3 ulp. The gradient at -1 and 1 is
/// not finite.
template <OneTensor Tensor>
constexpr Tensor acos(Tensor a) {
  return atan(sqrt((1.0F - a) / (1.0F + a))) * 2.0F;
}

/// The hyperbolic cosine. Error: at most 3.1 ulp.
template <OneTensor Tensor>
constexpr Tensor cosh(Tensor a) {
  Tensor const root = exp(abs(a) * 0.5F);  // its square may overflow where half of the square does not
  return root * 0.5F * root + 0.5F / (root * root);
}
/// The hyperbolic sine. Error: at most 3.7 ulp.
template <OneTensor Tensor>
constexpr Tensor sinh(Tensor a) {
  return tanh(a) * cosh(a);
}
/// The inverse of `sinh`. Error: at most 1.7 ulp.
template <OneTensor Tensor>
constexpr Tensor asinh(Tensor a) {
  Tensor const size = detail::size_of_odd(a), near = minimum(size, detail::large);
  Tensor const of_near = log1p(near + near * (near / (sqrt(near * near + 1.0F) + 1.0F)));
  return detail::with_sign(a, where(size < detail::large, of_near, log(maximum(size, detail::large)) + detail::ln2));
}
/// The inverse of `cosh`; NaN below 1. Error: at most 2.6 ulp.
template <OneTensor Tensor>
constexpr Tensor acosh(Tensor a) {
  Tensor const above_one = minimum(a, detail::large) - 1.0F;
  Tensor const of_near = log1p(above_one + sqrt(above_one) * sqrt(above_one + 2.0F));
  return where(a > detail::large, log(a) + detail::ln2, of_near);
}
/// The inverse of `tanh`; NaN outside of [-1, 1]. Error: at most 2 ulp.
template <OneTensor Tensor>
constexpr Tensor atanh(Tensor a) {
  Tensor const size = detail::size_of_odd(a);
  return detail::with_sign(a, log1p(size * 2.0F / (1.0F - size)) * 0.5F);
}

// Activations of ONNX and PyTorch that have parameters. Those of Keras are `sc::relu(x)` and its like.
/// clip(alpha a + beta, 0, 1). Keras 2 has alpha 0.2 and beta 0.5, Keras 3 has 1/6 and 0.5.
template <OneTensor Tensor>
constexpr Tensor hard_sigmoid(Tensor a, float alpha, float beta = 0.5F) {
  return clip(a * alpha + beta, 0.0F, 1.0F);
}
/// a times its hard_sigmoid of slope 1/6.
template <OneTensor Tensor>
constexpr Tensor hard_swish(Tensor a) {
  return a * hard_sigmoid(a, 1.0F / 6.0F);
}
/// a where it is positive, else alpha (e^a - 1).
template <OneTensor Tensor>
constexpr Tensor elu(Tensor a, float alpha) {
  return where(a > 0.0F, a, expm1(minimum(a, 0.0F)) * alpha);
}
/// a where it is positive, else alpha (e^(a / alpha) - 1).
template <OneTensor Tensor>
constexpr Tensor celu(Tensor a, float alpha = 1) {
  return where(a > 0.0F, a, expm1(minimum(a, 0.0F) * (1.0F / alpha)) * alpha);
}
/// gamma times the elu of slope alpha.
template <OneTensor Tensor>
constexpr Tensor selu(Tensor a, float alpha, float gamma) {
  return elu(a, alpha) * gamma;
}
/// a tanh(softplus(a)).
template <OneTensor Tensor>
constexpr Tensor mish(Tensor a) {
  return a * tanh(softplus(a));
}
/// a where it is larger than alpha, else 0.
template <OneTensor Tensor>
constexpr Tensor thresholded_relu(Tensor a, float alpha = 1) {
  return where(a > alpha, a, 0.0F);
}
/// a, moved towards 0 by `bias`, where |a| is larger than lambda; else 0: ONNX's Shrink.
template <OneTensor Tensor>
constexpr Tensor shrink(Tensor a, float lambda = 0.5F, float bias = 0) {
  return where(a < -lambda, a + bias, where(a > lambda, a - bias, 0.0F));
}
/// log(sigmoid(a)).
template <OneTensor Tensor>
constexpr Tensor log_sigmoid(Tensor a) {
  return -softplus(-a);
}

}  // namespace stagecraft::operations
