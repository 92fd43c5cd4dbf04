// SPDX-License-Identifier: BSD-3-Clause
// Functions of one, two or three numbers over whole arrays, with broadcasting.
#pragma once

#include <stagecraft/kernels/elementwise/broadcast.hpp>
#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/kernels/elementwise/strided.hpp>

namespace stagecraft::kernels {

namespace detail {

/// y = f(load) for all rows; array 0 is y.
template <class Arch, class F>
inline void map_rows(strided_axes<4, Arch> const& axes, float* y, std::array<float const*, 3> const& x, F const& f) {
  auto const length = axes.row_length();
  auto const strides = axes.row_strides();
  axes.for_each_row([&](auto const& at) {
    row_operand const operands[3]{
        {x[0] + at[1], strides[1] == 0}, {x[1] + at[2], strides[2] == 0}, {x[2] + at[3], strides[3] == 0}};
    float* const to = y + at[0];
    for_each_batch<Arch>(operands, length, [&](std::int64_t i, int valid, auto const& load) {
      store_first<Arch>(f(load), to + i, valid);
    });
  });
}

}  // namespace detail

/// y = apply(x...) at each place. Array 0 of `axes` is y, the others are the operands; those that the function does not
/// have may be anything that can be read.
template <class Arch = default_architecture>
inline void map_function(operations::function apply, strided_axes<4, Arch> const& axes, float* y,
                         std::array<float const*, 3> const& x) {
  with_function(apply, [&]<operations::function F>(std::integral_constant<operations::function, F>) {
    constexpr int count = operations::arity(F);
    detail::map_rows<Arch>(axes, y, x, [](auto const& in) {
      batch<Arch> const a = in(0);
      return function_value<F, Arch>(a, count > 1 ? in(1) : a, count > 2 ? in(2) : a);
    });
  });
}

}  // namespace stagecraft::kernels
