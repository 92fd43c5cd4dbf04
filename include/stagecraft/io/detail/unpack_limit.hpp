// SPDX-License-Identifier: BSD-3-Clause
// How large what is packed may become, before it is unpacked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stagecraft::io {

/// The most bytes that a packed part of a model's file may become: 64 MiB, or 32 times its bytes where that is more.
/// Trained weights do not become twice their bytes; zeros become a thousand times theirs.
[[nodiscard]] constexpr std::uint64_t most_unpacked(std::uint64_t packed) noexcept {
  constexpr std::uint64_t least = std::uint64_t{64} << 20, growth = 32;
  return packed > std::numeric_limits<std::uint64_t>::max() / growth ? packed : std::max(least, packed * growth);
}

/// The most bytes of a description of a model as JSON in an archive: as values it takes some twenty times as many.
inline constexpr std::uint64_t most_config_bytes = std::uint64_t{16} << 20;

}  // namespace stagecraft::io
