// SPDX-License-Identifier: BSD-3-Clause
// What a tile multiplies, in one piece or in two.
#pragma once

#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Elements in the order in which a vertex reads them: those that were received, and among them those that lie on the
/// tile all the time.
struct convolution_operand {
  tile_view received;
  tile_view own;
  std::int64_t first_own = 0;  ///< the number of its own first element

  convolution_operand(tile_view const& all) : received(all) {}  // NOLINT: an operand in one piece
  convolution_operand(tile_view const& others, tile_view const& of_tile, std::int64_t first)
      : received(others), own(of_tile), first_own(first) {}

  [[nodiscard]] std::int64_t size() const noexcept { return received.size() + own.size(); }
  /// The number of the element that was received as number `index`.
  [[nodiscard]] std::int64_t number_of_received(std::int64_t index) const noexcept {
    return index < first_own ? index : index + own.size();
  }
  [[nodiscard]] float operator[](std::int64_t number) const {
    if (number < first_own) return received[number];
    return number < first_own + own.size() ? own[number - first_own] : received[number - own.size()];
  }
};

}  // namespace stagecraft::tiles
