// SPDX-License-Identifier: BSD-3-Clause
// E3002: IPUs come in pairs.
// expect-error: auto_select_ipus is 3; IPUs come in pairs, so it must be 1 or even: choose 4
// expect-error: [E3002]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.auto_select_ipus = 3};
#else
inline constexpr sc::ipu_config config{.auto_select_ipus = 4};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
