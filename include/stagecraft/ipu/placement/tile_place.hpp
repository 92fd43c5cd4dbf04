// SPDX-License-Identifier: BSD-3-Clause
// Where a tensor lies in the memory of every tile of an IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// A ring of places, one for each micro-batch that is alive at once: bytes from the begin of a tile's memory, the same
/// on all tiles. Tile 0 has most of every tensor, so that what it needs is kept free on all.
struct tile_place {
  std::int64_t offset = -1;
  int depth = 1;
  std::int64_t stride = 0;

  friend constexpr bool operator==(tile_place const&, tile_place const&) = default;

  [[nodiscard]] constexpr bool exists() const noexcept { return offset >= 0; }
  /// Bytes of all places.
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return exists() ? depth * stride : 0; }
  /// The place of a micro-batch.
  [[nodiscard]] constexpr std::int64_t at(std::int64_t micro_batch) const noexcept {
    return depth == 1 || offset < 0 ? offset : offset + micro_batch % depth * stride;
  }
};

/// What a tensor takes on the tile with most of it.
[[nodiscard]] constexpr std::int64_t bytes_on_tile(std::int64_t elements, dtype type, ipu_target const& target,
                                                   weight_mapping const* planned = nullptr) noexcept {
  return bytes_on_tile(tile_tensor{tensor_role::temporary, 0, type, elements, planned}, target);
}

/// Puts rings one behind the other.
class tile_ring_allocator {
 public:
  constexpr tile_place place(int depth, std::int64_t bytes) {
    tile_place const result{bytes_, depth, bytes};
    bytes_ += depth * bytes;
    return result;
  }
  [[nodiscard]] constexpr std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace stagecraft::tiles
