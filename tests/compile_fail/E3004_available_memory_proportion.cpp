// SPDX-License-Identifier: BSD-3-Clause
// E3004: a proportion that is more than everything.
// expect-error: matmuls.available_memory_proportion is 6000 percent; it must be from 0 to 1
// expect-error: [E3004]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.matmuls = {.available_memory_proportion = 60.0F}};
#else
inline constexpr sc::ipu_config config{.matmuls = {.available_memory_proportion = 0.6F}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
