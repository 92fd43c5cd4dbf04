// SPDX-License-Identifier: BSD-3-Clause
// E2059: I/O tiles are to talk to the host while stages compute, in a schedule that does not do so.
// expect-error: the machine's io_tiles.place_ops_on_io_tiles is set, but the interleaved schedule
// expect-error: does not receive from and send to the host while stages of model 'sequential'
// expect-error: compute; choose the grouped one, or leave place_ops_on_io_tiles out
// expect-error: [E2059]
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2,
                                               .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto order = sc::interleaved;
#else
inline constexpr auto order = sc::grouped;
#endif
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 12,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 12, .schedule = order}};

static_assert(sc::profile<two_stages, training, machine>.fits());  // <- here
