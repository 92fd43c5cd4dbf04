// SPDX-License-Identifier: BSD-3-Clause
// Which elements of a tensor lie on which tile: the counterpart of poputil::mapTensorLinearly. Level 3.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/integers.hpp>
#include <stagecraft/ipu/ipu_target.hpp>
#include <cstdint>

namespace stagecraft {

/// A tensor in row-major order, cut into equal pieces for the tiles of an IPU one after the other; pieces are whole
/// vectors of the data path, so the last ones may be shorter or empty. No tile has more than tile 0.
struct tile_mapping {
  std::int64_t elements = 0;
  std::int64_t elements_per_tile = 0;

  constexpr tile_mapping() = default;
  constexpr tile_mapping(std::int64_t count, dtype type, ipu_target const& target) noexcept
      : elements(count),
        elements_per_tile(detail::ceil_div(detail::ceil_div(count, target.vector_width(type)), target.tiles_per_ipu) *
                          target.vector_width(type)) {}

  friend constexpr bool operator==(tile_mapping const&, tile_mapping const&) = default;

  /// The first element of a tile, and the one behind its last; the same for a tile that has none.
  [[nodiscard]] constexpr std::int64_t first(int tile) const noexcept {
    return detail::smaller(tile * elements_per_tile, elements);
  }
  [[nodiscard]] constexpr std::int64_t last(int tile) const noexcept { return first(tile + 1); }
  [[nodiscard]] constexpr std::int64_t elements_of(int tile) const noexcept { return last(tile) - first(tile); }
  [[nodiscard]] constexpr int tile_of(std::int64_t element) const noexcept {
    return static_cast<int>(element / elements_per_tile);
  }
  /// Tiles that have something.
  [[nodiscard]] constexpr int tiles_used() const noexcept {
    return elements == 0 ? 0 : static_cast<int>(detail::ceil_div(elements, elements_per_tile));
  }
};

}  // namespace stagecraft
