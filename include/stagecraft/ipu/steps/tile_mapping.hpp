// SPDX-License-Identifier: BSD-3-Clause
// Which elements of a tensor lie on which tile: linearly, the counterpart of poputil::mapTensorLinearly, or as a
// convolution's plan wants its weights.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/tile_tensor.hpp>
#include <stagecraft/ipu/steps/weight_mapping.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft {

/// Equal pieces of a tensor for the tiles of an IPU one after the other. No tile has more than tile 0.
///
/// Linearly, these are its elements in row-major order. Pieces are whole vectors of the data path, so the last ones may
/// be shorter or empty. Where a plan decides (weight_mapping), they are places: the weight's elements in the plan's
/// order, and zeros that fill up groups of channels.
struct tile_mapping {
  std::int64_t elements = 0;  ///< or places
  std::int64_t elements_per_tile = 0;

  constexpr tile_mapping() = default;
  constexpr tile_mapping(std::int64_t count, dtype type, ipu_target const& target) noexcept
      : elements(count),
        elements_per_tile(detail::ceil_div(detail::ceil_div(count, target.vector_width(type)), target.tiles_per_ipu) *
                          target.vector_width(type)) {}
  constexpr tile_mapping(tiles::tile_tensor const& tensor, ipu_target const& target) noexcept
      : tile_mapping(tensor.planned == nullptr ? tile_mapping(tensor.elements, tensor.type, target)
                                               : tile_mapping(*tensor.planned, tensor.elements)) {}

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

 private:
  /// A replica that has a part of a weight only has that part of each tile's piece.
  constexpr tile_mapping(tiles::weight_mapping const& planned, std::int64_t count) noexcept
      : elements_per_tile(count == 0 ? 0 : planned.part_of_tile(detail::ceil_div(planned.elements, count))) {
    elements = planned.tiles * elements_per_tile;
  }
};

}  // namespace stagecraft

namespace stagecraft::tiles {

/// Whether the elements of two tensors of one size lie side by side on the same tiles.
[[nodiscard]] constexpr bool lie_alike(tile_tensor const& a, tile_tensor const& b, ipu_target const& target) noexcept {
  return a.planned == b.planned &&
         tile_mapping(a, target).elements_per_tile == tile_mapping(b, target).elements_per_tile;
}

}  // namespace stagecraft::tiles
