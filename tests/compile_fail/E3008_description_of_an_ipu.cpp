// SPDX-License-Identifier: BSD-3-Clause
// E3008: the description of an IPU of one's own makes no sense.
// expect-error: the IPU 'mine' has num_worker_contexts 0; it must be from 1 to 64
// expect-error: [E3008]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_target mine{.name = "mine", .num_worker_contexts = 0};
#else
inline constexpr sc::ipu_target mine{.name = "mine", .num_worker_contexts = 12};
#endif

using devices = sc::ipu_devices<sc::ipu_config{.ipu_model = {.version = mine}}>;
static_assert(devices::devices > 0);  // <- here
