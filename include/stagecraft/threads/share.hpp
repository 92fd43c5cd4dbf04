// SPDX-License-Identifier: BSD-3-Clause
// The division of a kernel's work among threads: always at the same places, so that results do not depend on the number
// of threads.
#pragma once

#include <cstdint>

namespace stagecraft::kernels {

/// The part of a kernel's work that one of `count` threads does. A kernel numbers pieces of its work that write
/// different places, in an order that depends on shapes only; each thread does a range of them. The default is all of
/// the work.
struct share {
  int index = 0;
  int count = 1;

  struct range {
    std::int64_t first;
    std::int64_t last;
  };

  /// This thread's items of [0, items). Ranges begin at multiples of `granule` (16 floats: no two threads write one
  /// cache line).
  [[nodiscard]] constexpr range of(std::int64_t items, std::int64_t granule = 1) const noexcept {
    std::int64_t const granules = (items + granule - 1) / granule;
    auto const begin = [&](int thread) {
      std::int64_t const item = granules * thread / count * granule;
      return item < items ? item : items;
    };
    return {begin(index), begin(index + 1)};
  }
  [[nodiscard]] constexpr bool is_whole() const noexcept { return count == 1; }
  [[nodiscard]] constexpr bool is_first() const noexcept { return index == 0; }
};

}  // namespace stagecraft::kernels
