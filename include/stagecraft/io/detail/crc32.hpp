// SPDX-License-Identifier: BSD-3-Clause
// The checksum of zip and gzip. Needs zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <zlib.h>

namespace stagecraft::io {

/// Of bytes, after those whose checksum is `crc`.
[[nodiscard]] inline std::uint32_t crc32_of(std::span<std::byte const> bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;  // zlib takes no bytes for a question
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<Bytef const*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

}  // namespace stagecraft::io
