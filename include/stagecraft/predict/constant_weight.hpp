// SPDX-License-Identifier: BSD-3-Clause
// A weight in a constant array, which a linker puts into flash. The program `stagecraft` writes headers with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagecraft {

/// A weight whose numbers stand in an array that exists as long as the program: floats, or bytes and a scale for each
/// column (place of the last axis), so that number (row, column) is `bytes[row * columns + column] * scales[column]`.
///
///     inline constexpr float dense_kernel[] = {...};
///     inline constexpr stagecraft::constant_weight weights[] = {dense_kernel, dense_bias};
struct constant_weight {
  float const* floats = nullptr;       ///< row by row, in Keras's layout; null where there are bytes
  std::int8_t const* bytes = nullptr;  ///< row by row; null where there are floats
  float const* scales = nullptr;       ///< one for each column of `bytes`
  std::size_t count = 0;               ///< numbers of the weight
  std::size_t columns = 0;             ///< number of scales; 0 for floats

  template <std::size_t Count>
  constexpr explicit(false) constant_weight(float const (&numbers)[Count]) : floats(numbers), count(Count) {}
  template <std::size_t Count, std::size_t Columns>
  constexpr constant_weight(std::int8_t const (&numbers)[Count], float const (&of_columns)[Columns])
      : bytes(numbers), scales(of_columns), count(Count), columns(Columns) {}

  /// Bytes that the arrays take.
  [[nodiscard]] constexpr std::size_t size_in_bytes() const {
    return bytes == nullptr ? 4 * count : count + 4 * columns;
  }
};

}  // namespace stagecraft
