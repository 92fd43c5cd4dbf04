// SPDX-License-Identifier: BSD-3-Clause
// E3003: more tiles are asked for than the kind of IPU has.
// expect-error: ipu_model.tiles_per_ipu is 1472, but an 'ipu1' has 1216 tiles; it must be at most that, or 0 for all
// expect-error: [E3003]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.ipu_model = {.version = sc::ipu_targets::ipu1, .tiles_per_ipu = 1472}};
#else
inline constexpr sc::ipu_config config{.ipu_model = {.version = sc::ipu_targets::ipu2, .tiles_per_ipu = 1472}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
