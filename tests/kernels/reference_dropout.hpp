// SPDX-License-Identifier: BSD-3-Clause
// Dropout as a loop of its own: what its formula in generated loops and on tiles is compared with.
#pragma once

#include <stagecraft/kernels/random.hpp>
#include <stagecraft/kernels/simd.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// Dropout of a product's or a convolution's sums: the value of y[element] / (1 - rate) or 0, by the same number of the
/// sequence as `dropout` takes for it.
struct dropout_epilogue {
  float rate;
  random_key key;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int /*column*/,
                                                            std::int64_t element) const {
    using arch = typename Batch::arch_type;
    Batch const uniform = random_uniform_batch<arch>(key, static_cast<std::uint64_t>(element));
    return xsimd::select(uniform >= Batch(rate), sum * Batch(1.0F / (1.0F - rate)), Batch(0.0F));
  }
};

/// y[i] = x[i] / (1 - rate) where the uniform number of counter first + i is at least `rate`, else 0. y may be x.
/// 0 <= rate < 1. The same values come out however a range is split, if `first` is the range's place in the whole.
template <class Arch = default_architecture>
inline void dropout(float const* x, float* y, std::int64_t n, float rate, random_key const& key,
                    std::uint64_t first = 0) {
  using value = batch<Arch>;
  std::uint64_t counter = first;
  value const limit(rate);
  value const scale(1.0F / (1.0F - rate));
  transform<Arch>(
      n,
      [&](value const& v) {
        value const uniform = random_uniform_batch<Arch>(key, counter);
        counter += lanes<Arch>;
        return xsimd::select(uniform >= limit, v * scale, value(0.0F));
      },
      y, x);
}

}  // namespace stagecraft::kernels
