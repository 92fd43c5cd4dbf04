// SPDX-License-Identifier: BSD-3-Clause
// How many bytes a tensor of a file takes, without overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stagecraft::io {

/// The product of the dimensions and the size of an element; nothing if it does not fit into 63 bits, or if a dimension
/// is negative.
[[nodiscard]] constexpr std::optional<std::uint64_t> bytes_of(std::span<std::int64_t const> shape,
                                                              std::size_t element_size) noexcept {
  constexpr std::uint64_t most = ~std::uint64_t{0} >> 1;
  bool empty = false;
  for (auto const dimension : shape) {
    if (dimension < 0) return std::nullopt;
    empty = empty || dimension == 0;
  }
  if (empty) return 0;
  std::uint64_t product = element_size;
  for (auto const dimension : shape) {
    if (product > most / static_cast<std::uint64_t>(dimension)) return std::nullopt;
    product *= static_cast<std::uint64_t>(dimension);
  }
  return product;
}

}  // namespace stagecraft::io
