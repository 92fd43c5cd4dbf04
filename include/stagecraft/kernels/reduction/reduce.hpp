// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of arrays, along rows and along any axes. The order of additions depends only on the shape and the
// instruction set.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/map.hpp>
#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/operations/kinds/reduce.hpp>
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

/// The batch of partial results of n floats, from up to eight registers. Nothing is prefetched: the processor does
/// better by itself.
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

namespace detail {

/// The sum or maximum of each row.
template <class Reduction, class Arch>
void reduce_rows(row_step const& of, std::int64_t first, std::int64_t count) {
  for (std::int64_t row = first; row < first + count; ++row) {
    auto const found = reduce_array<Reduction, Arch>(of.x[0].begin + row * of.x[0].stride, of.x[0].length);
    of.y.begin[row * of.y.stride] = Reduction::join(float{Reduction::start}, Reduction::of_lanes(found));
  }
}

}  // namespace detail

/// The loop of a sum or maximum along rows.
template <class Arch = default_architecture>
[[nodiscard]] inline row_step::kernel row_kernel(operations::reduction by) {
  return by == operations::reduction::sum ? &detail::reduce_rows<detail::sum_of_batches<Arch>, Arch>
                                          : &detail::reduce_rows<detail::maximum_of_batches<Arch>, Arch>;
}

/// y = the sums or maxima of x. Array 0 of `axes` is y, with stride 0 along the reduced axes; array 1 is x. y has
/// `results` elements.
template <class Arch = default_architecture>
inline void reduce_axes(operations::reduction by, strided_axes<2, Arch> const& axes, float* y, std::int64_t results,
                        float const* x) {
  auto const run = [&](auto reduction) {
    using by_batches = decltype(reduction);
    fill<Arch>(y, by_batches::start, results);
    auto const length = axes.row_length();
    bool const into_one = axes.row_strides()[0] == 0;
    // Rows shorter than a register are reduced together, in the order of the rows.
    if (auto const of_rows = axes.strides_of_rows(); !into_one && length < lanes<Arch> && of_rows[0] == 0) {
      auto const count = static_cast<int>(length);
      return axes.for_each_block([&](auto const& at) {
        float const* from = x + at[1];
        auto sum = detail::load_repeating<Arch>(y + at[0], count);
        for (std::int64_t row = 0; row < axes.rows(); ++row, from += of_rows[1])
          sum = by_batches::join(sum, detail::load_repeating<Arch>(from, count));
        store_first<Arch>(sum, y + at[0], count);
      });
    }
    axes.for_each_row([&](auto const& at) {
      float* const to = y + at[0];
      float const* const from = x + at[1];
      if (into_one)
        *to = by_batches::join(*to, by_batches::of_lanes(detail::reduce_array<by_batches, Arch>(from, length)));
      else
        transform<Arch>(
            length, [](batch<Arch> const& a, batch<Arch> const& b) { return by_batches::join(a, b); }, to,
            static_cast<float const*>(to), from);
    });
  };
  if (by == operations::reduction::sum)
    run(detail::sum_of_batches<Arch>{});
  else
    run(detail::maximum_of_batches<Arch>{});
}

}  // namespace stagecraft::kernels
