// SPDX-License-Identifier: BSD-3-Clause
// The library's version: the only place where it is written; CMake reads it from here.
#pragma once

namespace stagecraft {

/// While it is 0, a new minor version may change interfaces.
inline constexpr int version_major = 0;
/// New with each release that adds or changes.
inline constexpr int version_minor = 2;
/// New with each release that only mends.
inline constexpr int version_patch = 0;

}  // namespace stagecraft
