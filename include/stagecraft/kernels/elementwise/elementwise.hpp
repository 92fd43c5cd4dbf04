// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic over whole arrays: fill, scale, copy of blocks.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// y = value, n times.
template <class Arch = default_architecture>
inline void fill(float* y, float value, std::int64_t n) {
  transform<Arch>(n, [value]() { return batch<Arch>(value); }, y);
}

/// y = factor * x, or y += factor * x if Accumulate. y may be x.
template <bool Accumulate = false, class Arch = default_architecture>
inline void scaled_add(float factor, float const* x, float* y, std::int64_t n) {
  using value = batch<Arch>;
  value const f(factor);
  if constexpr (Accumulate)
    transform<Arch>(
        n, [f](value const& a, value const& sum) { return fused_multiply_add(f, a, sum); }, y, x,
        static_cast<float const*>(y));
  else
    transform<Arch>(n, [f](value const& a) { return f * a; }, y, x);
}

/// For each of `outer` blocks: copies (or adds, if Accumulate) `inner` values from `from` to `to`, then steps on by the
/// strides. Concatenate along an axis writes each input so; its gradient reads so.
template <bool Accumulate = false, class Arch = default_architecture>
inline void copy_blocks(std::int64_t outer, std::int64_t inner, float const* from, std::int64_t from_stride, float* to,
                        std::int64_t to_stride) {
  for (std::int64_t block = 0; block < outer; ++block, from += from_stride, to += to_stride) {
    if constexpr (Accumulate)
      scaled_add<true, Arch>(1.0F, from, to, inner);
    else
      std::memcpy(to, from, static_cast<std::size_t>(inner) * sizeof(float));
  }
}

}  // namespace stagecraft::kernels
