// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of arrays. The order of every sum is fixed by the size and the instruction set. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/simd.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

template <class Arch>
struct sum_of_batches {
  static constexpr float start = 0;
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) { return a + b; }
  static float of_lanes(batch<Arch> const& x) { return horizontal_sum(x); }
};

/// The maximum of TensorFlow and NumPy: NaN if any number is NaN.
template <class Arch>
struct maximum_of_batches {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) {
    return xsimd::select(xsimd::isnan(b), b, at_least(a, b));
  }
  static float of_lanes(batch<Arch> const& x) {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    float largest = values[0];
    for (int lane = 1; lane < lanes<Arch>; ++lane)
      largest = values[lane] > largest || values[lane] != values[lane] ? values[lane] : largest;
    return largest;
  }
};

/// Arrays from this size on (in floats) come from beyond the second-level cache; what is read so many floats ahead is
/// there in time.
inline constexpr std::int64_t large_array = 1 << 16;
inline constexpr std::int64_t prefetch_distance = 512;

/// The batch of partial results of n floats, in eight registers.
template <class Reduction, class Arch>
[[nodiscard]] inline batch<Arch> reduce_array(float const* x, std::int64_t n) {
  constexpr int width = lanes<Arch>;
  constexpr int parts = 8;
  batch<Arch> part[parts];
#pragma GCC unroll 8
  for (int k = 0; k < parts; ++k) part[k] = batch<Arch>(Reduction::start);
  std::int64_t i = 0;
  for (; i + parts * width <= n; i += parts * width) {
    if (n >= large_array)
      for (int line = 0; line < parts * width; line += 16) prefetch(x + i + line + prefetch_distance);
#pragma GCC unroll 8
    for (int k = 0; k < parts; ++k) part[k] = Reduction::join(part[k], batch<Arch>::load_unaligned(x + i + k * width));
  }
  for (; i + width <= n; i += width) part[0] = Reduction::join(part[0], batch<Arch>::load_unaligned(x + i));
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    alignas(64) float last[width];
    for (int lane = 0; lane < width; ++lane) last[lane] = lane < rest ? x[i + lane] : Reduction::start;
    part[1] = Reduction::join(part[1], batch<Arch>::load_aligned(last));
  }
  auto const join = [&part](int a, int b, int c, int d) {
    return Reduction::join(Reduction::join(part[a], part[b]), Reduction::join(part[c], part[d]));
  };
  return Reduction::join(join(0, 4, 2, 6), join(1, 5, 3, 7));
}

}  // namespace detail

/// The sum of n floats.
template <class Arch = default_architecture>
[[nodiscard]] inline float sum(float const* x, std::int64_t n) {
  return horizontal_sum(detail::reduce_array<detail::sum_of_batches<Arch>, Arch>(x, n));
}

/// The largest of n floats: -inf if there are none, NaN if one is NaN.
template <class Arch = default_architecture>
[[nodiscard]] inline float largest(float const* x, std::int64_t n) {
  using reduction = detail::maximum_of_batches<Arch>;
  return reduction::of_lanes(detail::reduce_array<reduction, Arch>(x, n));
}

}  // namespace stagecraft::kernels
