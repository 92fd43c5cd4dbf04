// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima along any axes. The order of additions depends on the shape and the registers' width alone. Level 4.
#pragma once

#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/kernels/operations/strided.hpp>
#include <stagecraft/operations/reduce.hpp>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// One number of a row of n.
template <class Arch, class Combine, class Join>
[[nodiscard]] inline float reduce_row(float const* x, std::int64_t n, float neutral, Combine const& combine,
                                      Join const& join) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  value sums[4]{value(neutral), value(neutral), value(neutral), value(neutral)};
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    for (int k = 0; k < 4; ++k) sums[k] = combine(sums[k], value::load_unaligned(x + i + k * width));
  for (; i + width <= n; i += width) sums[0] = combine(sums[0], value::load_unaligned(x + i));
  float result = join(combine(combine(sums[0], sums[1]), combine(sums[2], sums[3])));
  for (; i < n; ++i) {
    value const one(x[i]), both(result);
    result = combine(both, one).get(0);
  }
  return result;
}

}  // namespace detail

/// y = the sums or maxima of x. Array 0 of `axes` is y, with stride 0 along what is reduced; array 1 is x. y has
/// `results` elements.
template <class Arch = default_architecture>
inline void reduce_axes(operations::reduction by, strided_axes<2, Arch> const& axes, float* y, std::int64_t results,
                        float const* x) {
  using value = batch<Arch>;
  bool const adds = by == operations::reduction::sum;
  float const neutral = adds ? 0.0F : -std::numeric_limits<float>::infinity();
  fill<Arch>(y, neutral, results);
  auto const run = [&](auto const& combine, auto const& join) {
    auto const length = axes.row_length();
    bool const into_one = axes.row_strides()[0] == 0;
    axes.for_each_row([&](auto const& at) {
      float* const to = y + at[0];
      float const* const from = x + at[1];
      if (into_one)
        *to = combine(value(*to), value(detail::reduce_row<Arch>(from, length, neutral, combine, join))).get(0);
      else
        transform<Arch>(length, combine, to, static_cast<float const*>(to), from);
    });
  };
  if (adds)
    run([](value const& a, value const& b) { return a + b; }, [](value const& a) { return horizontal_sum<Arch>(a); });
  else
    run([](value const& a, value const& b) { return at_least(a, b); },
        [](value const& a) { return horizontal_max<Arch>(a); });
}

}  // namespace stagecraft::kernels
