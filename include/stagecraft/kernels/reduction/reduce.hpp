// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima along any axes. The order of additions depends on the shape and the registers' width alone.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/strided.hpp>
#include <stagecraft/kernels/reduction/reduction.hpp>
#include <stagecraft/operations/kinds/reduce.hpp>

namespace stagecraft::kernels {

/// y = the sums or maxima of x. Array 0 of `axes` is y, with stride 0 along what is reduced; array 1 is x. y has
/// `results` elements.
template <class Arch = default_architecture>
inline void reduce_axes(operations::reduction by, strided_axes<2, Arch> const& axes, float* y, std::int64_t results,
                        float const* x) {
  auto const run = [&](auto reduction) {
    using by_batches = decltype(reduction);
    fill<Arch>(y, by_batches::start, results);
    auto const length = axes.row_length();
    bool const into_one = axes.row_strides()[0] == 0;
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
