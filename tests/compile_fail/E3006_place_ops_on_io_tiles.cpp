// SPDX-License-Identifier: BSD-3-Clause
// E3006: operations are to be placed on I/O tiles, but there are none.
// expect-error: io_tiles.place_ops_on_io_tiles is set, but io_tiles.num_io_tiles is 0;
// expect-error: [E3006]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.io_tiles = {.place_ops_on_io_tiles = true}};
#else
inline constexpr sc::ipu_config config{.io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
