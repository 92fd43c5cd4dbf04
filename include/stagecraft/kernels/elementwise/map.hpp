// SPDX-License-Identifier: BSD-3-Clause
// Functions of one, two or three numbers over whole arrays, with broadcasting.
#pragma once

#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/elementwise/strided.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::kernels {

/// y = apply(x...) at each place. Array 0 of `axes` is y, the others are the operands; those that the function does not
/// have may be anything that can be read.
template <class Arch = default_architecture>
inline void map_function(operations::function apply, strided_axes<4, Arch> const& axes, float* y,
                         std::array<float*, 3> const& x) {
  auto const length = axes.row_length();
  auto const strides = axes.row_strides(), of_rows = axes.strides_of_rows();
  row_step row{.run = row_kernel<Arch>(apply),
               .y = {y, of_rows[0], length},
               .x = {},
               .operands = arity(apply),
               .is_one_row = false};
  for (std::size_t k = 0; k < 3; ++k) row.x[k] = {x[k], of_rows[k + 1], strides[k + 1] == 0 ? 1 : length};
  auto const rows = axes.rows();
  axes.for_each_block([&](auto const& at) {
    row.y.begin = y + at[0];
    for (std::size_t k = 0; k < 3; ++k) row.x[k].begin = x[k] + at[k + 1];
    row.run(row, 0, rows);
  });
}

}  // namespace stagecraft::kernels
