// SPDX-License-Identifier: BSD-3-Clause
// The memory of one emulated tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace stagecraft::tiles {

/// An arena: tensors of a step lie at places that the plan gives, copies of an operation behind them, one after the
/// other, until the operation ends. Remembers how far it was used.
class tile_memory {
 public:
  tile_memory(int tile, std::int64_t bytes)
      : tile_(tile),
        bytes_(bytes),
        data_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes) + slack)) {}

  /// A tensor's piece at a place of the plan. Errors: E4102 if the tile is too small.
  [[nodiscard]] tile_view place(std::int64_t offset, std::int64_t elements, dtype type) {
    return view(offset, elements, type);
  }
  /// Copies of an operation begin behind `offset`.
  void begin_operation(std::int64_t offset) noexcept { next_ = offset; }
  [[nodiscard]] tile_view allocate(std::int64_t elements, dtype type) {
    auto const at = next_;
    next_ += rounded_bytes(elements * size_of(type));
    return view(at, elements, type);
  }

  /// The end of the highest memory that was used.
  [[nodiscard]] std::int64_t high_water_mark() const noexcept { return most_; }

 private:
  tile_view view(std::int64_t offset, std::int64_t elements, dtype type) {
    auto const end = offset + elements * size_of(type);
    if (offset < 0 || end > bytes_)
      throw tile_access_error("E4102", "tile " + std::to_string(tile_) + ": a tensor ends at byte " +
                                           std::to_string(end) + " of " + std::to_string(bytes_));
    if (end > most_) most_ = end;
    return {data_.get() + offset, elements, type, tile_};
  }

  /// The host's kernels, which a layer of the user's own may call, read up to a few registers beyond the end.
  static constexpr std::size_t slack = 256;

  int tile_;
  std::int64_t bytes_;
  std::unique_ptr<std::byte[]> data_;  // what is never used takes no memory of the host
  std::int64_t next_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace stagecraft::tiles
