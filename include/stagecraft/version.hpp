// SPDX-License-Identifier: BSD-3-Clause
// The library's version: the only place where it is written; CMake reads it from here.
#pragma once

namespace stagecraft {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace stagecraft
