// SPDX-License-Identifier: BSD-3-Clause
// A marker in the file of an application, which is read before anything of the file is run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::serving::detail {

/// The marker, whose bytes are searched for in the file.
struct application_marker {
  static constexpr std::size_t magic_size = 32;
  static constexpr std::array<char, magic_size> magic{"\x7fstagecraft application marker"};

  std::array<char, magic_size> text;
  std::uint32_t interface_version;
  std::uint64_t instruction_sets;  ///< the sets that the compiler's flags allow
};

}  // namespace stagecraft::serving::detail
