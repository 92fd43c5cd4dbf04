// SPDX-License-Identifier: BSD-3-Clause
// Where the columns of a row lie in registers, and in which order the weights of a product of rows are packed.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <utility>

namespace stagecraft::cpu {

/// The layout of the columns of a row in registers: a row that is sliced into gates has each gate in registers of its
/// own, so that slices cost nothing.
template <class Arch>
struct row_layout {
  static constexpr int width = kernels::lanes<Arch>;
  /// Registers of sums that a product keeps at once, beside a register of weights and one of the left operand.
  static constexpr int most_sums = kernels::has_avx512<Arch> ? 24 : 12;

  int group = 1;      ///< columns of a gate
  int groups = 1;     ///< gates
  int per_group = 1;  ///< registers of a gate

  constexpr row_layout(int columns, int columns_of_group)
      : group(columns_of_group), groups(columns / columns_of_group), per_group((group + width - 1) / width) {}

  [[nodiscard]] constexpr int registers() const { return groups * per_group; }
  [[nodiscard]] constexpr int lanes_of(int index) const {
    int const rest = group - index % per_group * width;
    return rest < width ? rest : width;
  }
  [[nodiscard]] constexpr int column_of(int index) const {
    return index / per_group * group + index % per_group * width;
  }

  // Packed weights: a row for each term, of the registers that are summed at once.
  [[nodiscard]] constexpr bool is_half(int index) const {
    return kernels::has_half_registers<Arch> && lanes_of(index) <= width / 2;
  }
  [[nodiscard]] constexpr int packed_floats(int index) const { return is_half(index) ? width / 2 : width; }
  [[nodiscard]] constexpr int packed_before(int index) const {
    int sum = 0;
    for (int i = 0; i < index; ++i) sum += packed_floats(i);
    return sum;
  }
  /// The end of the registers that are summed together from `first` on: all such parts are about as large.
  [[nodiscard]] constexpr int part_end(int first) const {
    int const parts = (registers() + most_sums - 1) / most_sums, at_once = (registers() + parts - 1) / parts;
    return first + at_once < registers() ? first + at_once : registers();
  }
  [[nodiscard]] constexpr int row_of_part(int first) const {
    return packed_before(part_end(first)) - packed_before(first);
  }
  /// Floats of a row of all parts; parts begin at cache lines as far as this is a whole number of them.
  [[nodiscard]] constexpr int packed_row() const { return (packed_before(registers()) + 15) / 16 * 16; }
};

/// Calls `one.operator()<I>()` for I from First to Last - 1, written out.
template <int First, int Last, class Each>
[[gnu::always_inline]] inline void each_of(Each const& one) {
  if constexpr (Last > First)
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
      (one.template operator()<First + I>(), ...);
    }(std::make_integer_sequence<int, Last - First>{});
}

}  // namespace stagecraft::cpu
