// SPDX-License-Identifier: BSD-3-Clause
// E3007: no tile is left to compute.
// expect-error: io_tiles.num_io_tiles is 64, but an IPU has 64 tiles; at least one must be left to compute
// expect-error: [E3007]
#include <stagecraft/machines/ipu_devices.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::ipu_config config{.ipu_model = {.tiles_per_ipu = 64}, .io_tiles = {.num_io_tiles = 64}};
#else
inline constexpr sc::ipu_config config{.ipu_model = {.tiles_per_ipu = 64}, .io_tiles = {.num_io_tiles = 8}};
#endif

using devices = sc::ipu_devices<config>;
static_assert(devices::devices > 0);  // <- here
