// SPDX-License-Identifier: BSD-3-Clause
// E3005: partial sums of integers.
// expect-error: convolutions.partials_type is int32; it must be float32 or float16
// expect-error: [E3005]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.convolutions = {.partials_type = sc::dtype::int32}};
#else
inline constexpr sc::ipu_config config{.convolutions = {.partials_type = sc::dtype::float16}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
