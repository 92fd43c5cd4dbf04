// SPDX-License-Identifier: BSD-3-Clause
// E3046: batches that come while IPUs compute are larger than the memory of the I/O tiles that take them.
// expect-error: model 'sequential' on IPU 0: 802816 bytes come and go while it computes, but data may take 575078
// expect-error: bytes of its 1 I/O tiles; raise io_tiles.num_io_tiles
// expect-error: [E3046]
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using two_stages = sc::pipelined<sc::sequential<input{784}, dense{32, sc::relu}, dense{16}>, sc::stages<0, 1>>;
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2,
                                               .io_tiles = {.num_io_tiles = 1, .place_ops_on_io_tiles = true}}>;

#ifdef STAGECRAFT_BAD
inline constexpr int batch = 256;
#else
inline constexpr int batch = 128;
#endif
inline constexpr auto training = sc::training{
    .batch_size = batch, .steps_per_execution = 8, .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

static_assert(sc::profile<two_stages, training, machine>.fits());  // <- here
