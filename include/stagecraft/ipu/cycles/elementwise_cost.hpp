// SPDX-License-Identifier: BSD-3-Clause
// How a vertex goes over elements one after the other: popops' OpPerformanceInfo.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Cycles of the innermost loop of an elementwise operation. Where they depend on the data, they are the mean over
/// random data.
struct elementwise_cost {
  /// `vector` in place of a number of elements: as many as 64 bits hold, and the loop itself costs something more.
  static constexpr int vector = 0;
  /// One element, and the loop itself costs something more.
  static constexpr int single = -1;

  int cycles = 0;    ///< of a turn of the loop
  int elements = 1;  ///< that it works on, or `vector`, or `single`

  friend constexpr bool operator==(elementwise_cost const&, elementwise_cost const&) = default;

  /// Cycles for `count` elements, where a turn over a vector costs `overhead` more.
  [[nodiscard]] constexpr std::int64_t loop_cycles(std::int64_t count, int vector_width, int overhead) const noexcept {
    if (elements > 0) return detail::ceil_div(count, elements) * cycles;
    return detail::ceil_div(count, elements == vector ? vector_width : 1) * (cycles + overhead);
  }
  /// The same as the source has it for operations on one operand, and on a vector: vectors are not rounded up to whole
  /// ones, only the result is rounded.
  [[nodiscard]] constexpr std::int64_t smooth_loop_cycles(std::int64_t count, int vector_width,
                                                          int overhead) const noexcept {
    if (elements > 0) return detail::ceil_div(count, elements) * cycles;
    int const width = elements == vector ? vector_width : 1;
    return (cycles + overhead) * (count + width - 1) / width;
  }
};

}  // namespace stagecraft::vertices

namespace stagecraft::tiles {

/// The supervisor's cycles around elementwise operations. Source: poplibs, basicOpSupervisorOverhead.
inline constexpr int elementwise_supervisor_cycles = 11;

}  // namespace stagecraft::tiles
