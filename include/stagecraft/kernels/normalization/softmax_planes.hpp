// SPDX-License-Identifier: BSD-3-Clause
// Softmax along an axis that is not the last, vectorised over the axes behind it, and its gradient. Keras counterpart:
// tf.keras.layers.Softmax(axis).
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// Calls function.operator()<Count>(begin) for each of this thread's registers of Count neighbouring columns of the
/// (Outer, Length, Inner) tensor; `begin` is their place in its first plane.
template <int Outer, int Length, int Inner, class Arch, class Function>
inline void for_softmax_columns(share part, Function const& function) {
  constexpr int whole = Inner / lanes<Arch>;
  constexpr int rest = Inner - whole * lanes<Arch>;
  constexpr int registers = whole + (rest > 0 ? 1 : 0);
  auto const [first, last] = part.of(static_cast<std::int64_t>(Outer) * registers);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const begin = item / registers * Length * Inner + item % registers * lanes<Arch>;
    if (rest == 0 || item % registers < whole) {
      if constexpr (whole > 0) function.template operator()<lanes<Arch>>(begin);
    } else if constexpr (rest > 0) {
      function.template operator()<rest>(begin);
    }
  }
}

}  // namespace detail

/// y = softmax(x) along the middle axis of an (Outer, Length, Inner) tensor. y may be x. A NaN or +inf in x makes all
/// that is summed with it NaN. Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, class Arch = default_architecture>
inline void softmax_planes(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    float const* const from = x + begin;
    float* const to = y + begin;
    value largest(-std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < Length; ++i) largest = xsimd::max(largest, load_lanes<Count, Arch>(from + i * Inner));
    value sum(0.0F);
    for (std::int64_t i = 0; i < Length; ++i) {
      value const exponential = xsimd::exp(load_lanes<Count, Arch>(from + i * Inner) - largest);
      sum = sum + exponential;
      store_lanes<Count>(exponential, to + i * Inner);
    }
    value const scale = value(1.0F) / sum;
    for (std::int64_t i = 0; i < Length; ++i)
      store_lanes<Count>(load_lanes<Count, Arch>(to + i * Inner) * scale, to + i * Inner);
  });
}

/// dx = y * (dy - sum(y * dy)) along the middle axis, added to dx if Accumulate. Without Accumulate dx may be dy.
/// Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_planes_gradient(float const* y, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    value dot(0.0F);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner)
      dot = fused_multiply_add(load_lanes<Count, Arch>(y + i), load_lanes<Count, Arch>(dy + i), dot);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner) {
      value const difference = load_lanes<Count, Arch>(dy + i) - dot;
      value const p = load_lanes<Count, Arch>(y + i);
      if constexpr (Accumulate)
        store_lanes<Count>(fused_multiply_add(p, difference, load_lanes<Count, Arch>(dx + i)), dx + i);
      else
        store_lanes<Count>(p * difference, dx + i);
    }
  });
}

}  // namespace stagecraft::kernels
