// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of arrays. The order of every sum is fixed by the length and the instruction set.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

template <class Arch>
struct sum_of_batches {
  static constexpr float start = 0;
  static float join(float a, float b) { return a + b; }
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) { return a + b; }
  static batch<Arch> first(float const* x, int count) { return load_first<Arch>(x, count); }
  static float of_lanes(batch<Arch> const& x) { return horizontal_sum(x); }
};

/// The maximum of TensorFlow and NumPy: NaN if any number is NaN.
template <class Arch>
struct maximum_of_batches {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  static float join(float a, float b) { return b > a || b != b ? b : a; }
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) {
    return xsimd::select(xsimd::isnan(b), b, at_least(a, b));
  }
  static batch<Arch> first(float const* x, int count) {
    batch<Arch> const is_there = keep_first(batch<Arch>(1.0F), count);
    return xsimd::select(is_there == batch<Arch>(0.0F), batch<Arch>(start), load_first<Arch>(x, count));
  }
  static float of_lanes(batch<Arch> const& x) {
    return xsimd::any(xsimd::isnan(x)) ? std::numeric_limits<float>::quiet_NaN() : horizontal_max(x);
  }
};

/// The batch of partial results of n floats; in eight registers, where there are so many. Nothing is asked for ahead:
/// the processor does better by itself.
template <class Reduction, class Arch>
[[nodiscard]] inline batch<Arch> reduce_array(float const* x, std::int64_t n) {
  constexpr int width = lanes<Arch>;
  constexpr int parts = 8;
  std::int64_t i = 0;
  batch<Arch> rest(Reduction::start);
  auto const add_rest = [&] {
    for (; i + width <= n; i += width) rest = Reduction::join(rest, batch<Arch>::load_unaligned(x + i));
    if (i < n) rest = Reduction::join(rest, Reduction::first(x + i, static_cast<int>(n - i)));
    return rest;
  };
  if (n < parts * width) return add_rest();
  batch<Arch> part[parts];
#pragma GCC unroll 8
  for (int k = 0; k < parts; ++k) part[k] = batch<Arch>(Reduction::start);
  for (; i + parts * width <= n; i += parts * width) {
#pragma GCC unroll 8
    for (int k = 0; k < parts; ++k) part[k] = Reduction::join(part[k], batch<Arch>::load_unaligned(x + i + k * width));
  }
  auto const join = [&part](int a, int b, int c, int d) {
    return Reduction::join(Reduction::join(part[a], part[b]), Reduction::join(part[c], part[d]));
  };
  return Reduction::join(Reduction::join(join(0, 4, 2, 6), join(1, 5, 3, 7)), add_rest());
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
