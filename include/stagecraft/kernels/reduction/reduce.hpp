// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima along rows and along any axes. The order of additions depends on the shape and the registers' width
// alone.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/elementwise/strided.hpp>
#include <stagecraft/kernels/reduction/reduction.hpp>
#include <stagecraft/operations/kinds/reduce.hpp>

namespace stagecraft::kernels {

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
    // Rows that are shorter than a register, all into one: in the order of the rows, as one after the other.
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
