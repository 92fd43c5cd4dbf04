// SPDX-License-Identifier: BSD-3-Clause
// Weight penalties: their value, and their share of the gradient.
// Keras counterpart: tf.keras.regularizers.L1L2.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// l1 * sum|w| + l2 * sum w^2 over n weights.
template <class Arch = default_architecture>
[[nodiscard]] inline float regularization_loss(regularizer const& penalty, float const* w, std::int64_t n) {
  using value = batch<Arch>;
  float loss = 0;
  if (penalty.l1 != 0) loss += penalty.l1 * transform_sum<Arch>(n, [](value const& x) { return xsimd::abs(x); }, w);
  if (penalty.l2 != 0) loss += penalty.l2 * transform_sum<Arch>(n, [](value const& x) { return x * x; }, w);
  return loss;
}

/// g += l1 * sign(w) + 2 * l2 * w, with sign(0) = 0 as in TensorFlow.
template <class Arch = default_architecture>
inline void add_regularization_gradient(regularizer const& penalty, float const* w, float* g, std::int64_t n) {
  using value = batch<Arch>;
  if (penalty.empty()) return;
  value const l1(penalty.l1);
  value const twice_l2(2.0F * penalty.l2);
  value const zero(0.0F);
  transform<Arch>(
      n,
      [=](value const& x, value const& gradient) {
        value const sign = xsimd::select(x > zero, l1, xsimd::select(x < zero, -l1, zero));
        return gradient + fused_multiply_add(twice_l2, x, sign);
      },
      g, w, static_cast<float const*>(g));
}

}  // namespace stagecraft::kernels
