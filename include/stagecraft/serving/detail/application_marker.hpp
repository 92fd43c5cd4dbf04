// SPDX-License-Identifier: BSD-3-Clause
// What stands in the file of an application to be read before anything of it is run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::serving::detail {

/// Its bytes are looked for in the file.
struct application_marker {
  static constexpr std::size_t magic_size = 32;
  static constexpr std::array<char, magic_size> magic{"\x7fstagecraft application marker"};

  std::array<char, magic_size> text;
  std::uint32_t interface_version;
  std::uint64_t instruction_sets;  ///< what the compiler's flags let it use
};

}  // namespace stagecraft::serving::detail
