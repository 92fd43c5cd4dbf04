// SPDX-License-Identifier: BSD-3-Clause
// E3001: no IPU is asked for.
// expect-error: auto_select_ipus is 0; it must be from 1 to 256
// expect-error: [E3001]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.auto_select_ipus = 0};
#else
inline constexpr sc::ipu_config config{.auto_select_ipus = 4};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
