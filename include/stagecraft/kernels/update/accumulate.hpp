// SPDX-License-Identifier: BSD-3-Clause
// Accumulation of the gradients of several micro-batches, in floats or halves.
// Keras counterpart: the gradient accumulation of Keras on IPU (GradientAccumulationReductionMethod).
#pragma once

#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/pipeline/options.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// The factors of an accumulator and a gradient before they are added. An accumulator with the factor 0 may be
/// uninitialised.
struct accumulation_factors {
  float accumulated = 1;
  float gradient = 1;
};

/// The factors of micro-batch n, from 0 on, of the `count` of a weight update:
/// - sum:          acc <- acc + g
/// - mean:         acc <- acc + g * (1 / count)
/// - running mean: acc <- acc * (n / (n + 1)) + g * (1 / (n + 1))
/// where acc is 0 at first.
template <class Arch = default_architecture>
[[nodiscard]] constexpr accumulation_factors accumulation_factors_of(gradient_accumulation_reduction_method method,
                                                                     int n, int count) noexcept {
  using enum gradient_accumulation_reduction_method;
  float const before = n == 0 ? 0.0F : 1.0F;
  auto const position = static_cast<float>(n);
  if (method == mean) return {before, 1.0F / static_cast<float>(count)};
  if (method == running_mean) return {position / (position + 1.0F), 1.0F / (position + 1.0F)};
  return {before, 1.0F};
}

namespace detail {

/// The new value of an accumulator, before it is stored.
template <bool Empty, class Arch, class Load>
[[nodiscard]] inline xsimd::batch<float, Arch> accumulated(accumulation_factors const& factors, Load const& load,
                                                           xsimd::batch<float, Arch> const& gradient) {
  using value = xsimd::batch<float, Arch>;
  value const scaled = rounded(value(factors.gradient) * gradient);
  if constexpr (Empty)
    return value(0.0F) + scaled;  // not -0, which a sum from 0 on never is
  else
    return rounded(value(factors.accumulated) * load()) + scaled;
}

template <bool Empty, class Arch>
inline void accumulate_gradient(accumulation_factors const& factors, float const* gradient, float* accumulator,
                                std::int64_t n) {
  using value = xsimd::batch<float, Arch>;
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>)
    accumulated<Empty>(
        factors, [&] { return value::load_unaligned(accumulator + i); }, value::load_unaligned(gradient + i))
        .store_unaligned(accumulator + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first(
        accumulated<Empty>(
            factors, [&] { return load_first<Arch>(accumulator + i, rest); }, load_first<Arch>(gradient + i, rest)),
        accumulator + i, rest);
}
template <bool Empty, class Arch>
inline void accumulate_gradient(accumulation_factors const& factors, float const* gradient, std::uint16_t* accumulator,
                                std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>)
    store_halves(
        accumulated<Empty>(
            factors, [&] { return load_halves<Arch>(accumulator + i); }, batch<Arch>::load_unaligned(gradient + i)),
        accumulator + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first_halves(accumulated<Empty>(
                           factors, [&] { return load_first_halves<Arch>(accumulator + i, rest); },
                           load_first<Arch>(gradient + i, rest)),
                       accumulator + i, rest);
}

}  // namespace detail

/// accumulator = accumulator * factors.accumulated + gradient * factors.gradient, n times. The accumulator holds
/// floats, or halves (std::uint16_t, narrow_floats.hpp); with the factor 0 it is not read, and is taken for 0. In
/// floats, both products and the sum are rounded, each by itself; then the sum is rounded to a half if such are stored.
/// So it is the same bits for every architecture, and where the gradient was scaled when it was computed. Elementwise:
/// a range may be split in any way, at multiples of 16 floats for the sake of cache lines.
template <class Arch = default_architecture, class Stored>
inline void accumulate_gradient(accumulation_factors factors, float const* gradient, Stored* accumulator,
                                std::int64_t n) {
  if (factors.accumulated == 0.0F)
    detail::accumulate_gradient<true, Arch>(factors, gradient, accumulator, n);
  else
    detail::accumulate_gradient<false, Arch>(factors, gradient, accumulator, n);
}

}  // namespace stagecraft::kernels
