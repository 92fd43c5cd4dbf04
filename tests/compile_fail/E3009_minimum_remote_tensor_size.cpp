// SPDX-License-Identifier: BSD-3-Clause
// E3009: a size that is negative.
// expect-error: optimizations.minimum_remote_tensor_size is -1; it must be at least 0
// expect-error: [E3009]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.optimizations = {.minimum_remote_tensor_size = -1}};
#else
inline constexpr sc::ipu_config config{.optimizations = {.minimum_remote_tensor_size = 1024}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
