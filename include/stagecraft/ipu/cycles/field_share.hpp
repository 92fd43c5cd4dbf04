// SPDX-License-Identifier: BSD-3-Clause
// The part of a convolution's output that each worker of a tile computes.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// A run of elements of an output field, in the order of its rows: at most one piece of a row, then whole rows, then at
/// most one more piece.
struct field_share {
  std::int64_t first = 0;
  std::int64_t whole_rows = 0;
  std::int64_t row_length = 0;
  std::int64_t last = 0;

  friend constexpr bool operator==(field_share const&, field_share const&) = default;

  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return first + whole_rows * row_length + last; }

  /// The sum of cost(elements of a piece) over all pieces.
  template <class Cost>
  [[nodiscard]] constexpr std::int64_t sum(Cost const& cost) const {
    std::int64_t result = whole_rows == 0 ? 0 : whole_rows * cost(row_length);
    if (first > 0) result += cost(first);
    if (last > 0) result += cost(last);
    return result;
  }
};

/// The part of worker `worker` of `workers`: all rows are cut into runs whose lengths differ by at most one element.
/// Source: poplibs, lib/poplin/ConvUtilInternal.cpp, partitionConvPartialByWorker.
[[nodiscard]] constexpr field_share share_of_worker(std::int64_t rows, std::int64_t row_length, int workers,
                                                    int worker) noexcept {
  std::int64_t const begin = worker * rows * row_length / workers;
  std::int64_t const end = (worker + 1) * rows * row_length / workers;
  field_share result{.row_length = row_length};
  if (begin == end) return result;
  if (begin % row_length != 0 && begin / row_length == (end - 1) / row_length) {
    result.first = end - begin;
    return result;
  }
  if (begin % row_length != 0) result.first = row_length - begin % row_length;
  result.last = end % row_length;
  result.whole_rows = (end - begin - result.first - result.last) / row_length;
  return result;
}

}  // namespace stagecraft::vertices
