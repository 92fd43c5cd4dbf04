// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima along any axes. The order of additions depends on the shape and the registers' width alone. Level 4.
#pragma once

#include <stagecraft/kernels/elementwise.hpp>
#include <stagecraft/kernels/operations/strided.hpp>
#include <stagecraft/kernels/reduction.hpp>
#include <stagecraft/operations/reduce.hpp>

namespace stagecraft::kernels {

namespace detail {

template <class Reduction, class Arch>
inline void reduce_axes(strided_axes<2, Arch> const& axes, float* y, std::int64_t results, float const* x) {
  auto const join = [](batch<Arch> const& a, batch<Arch> const& b) { return Reduction::join(a, b); };
  fill<Arch>(y, Reduction::start, results);
  auto const length = axes.row_length();
  bool const into_one = axes.row_strides()[0] == 0;
  axes.for_each_row([&](auto const& at) {
    float* const to = y + at[0];
    float const* const from = x + at[1];
    if (into_one)
      *to =
          join(batch<Arch>(*to), batch<Arch>(Reduction::of_lanes(reduce_array<Reduction, Arch>(from, length)))).get(0);
    else
      transform<Arch>(length, join, to, static_cast<float const*>(to), from);
  });
}

}  // namespace detail

/// y = the sums or maxima of x; a maximum is NaN if one of its numbers is. Array 0 of `axes` is y, with stride 0 along
/// what is reduced; array 1 is x. y has `results` elements.
template <class Arch = default_architecture>
inline void reduce_axes(operations::reduction by, strided_axes<2, Arch> const& axes, float* y, std::int64_t results,
                        float const* x) {
  if (by == operations::reduction::sum)
    detail::reduce_axes<detail::sum_of_batches<Arch>, Arch>(axes, y, results, x);
  else
    detail::reduce_axes<detail::maximum_of_batches<Arch>, Arch>(axes, y, results, x);
}

}  // namespace stagecraft::kernels
