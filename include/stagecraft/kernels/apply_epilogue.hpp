// SPDX-License-Identifier: BSD-3-Clause
// An epilogue on sums that are in memory, for kernels that do not take one themselves. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/epilogue.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// y = epilogue(y). y: Rows x Columns, row by row; up to a register behind its end may be read. A thread's share is a
/// range of rows.
template <int Rows, int Columns, class Arch = default_architecture, class Epilogue>
void apply_epilogue(float* y, Epilogue const& epilogue, share part = {}) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  share::range const rows = part.of(Rows);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    std::int64_t element = row * Columns;
    for (int column = 0; column < whole; column += width, element += width)
      epilogue(batch<Arch>::load_unaligned(y + element), column, element).store_unaligned(y + element);
    if constexpr (whole < Columns)
      store_lanes<Columns - whole>(epilogue(load_lanes<Columns - whole, Arch>(y + element), whole, element),
                                   y + element);
  }
}

}  // namespace stagecraft::kernels
