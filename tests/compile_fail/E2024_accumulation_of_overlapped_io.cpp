// SPDX-License-Identifier: BSD-3-Clause
// E2024: a weight update of too few micro-batches for I/O tiles that receive one and send the results of another.
// expect-error: the training has gradient_accumulation_steps_per_replica 4, but the grouped schedule
// expect-error: of 2 stages works on 4 micro-batches at once, while I/O tiles receive one and send
// expect-error: the results of one; it must be at least 6
// expect-error: [E2024]
#include <stagecraft/ipu.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 1>>;
using machine =
    sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}>;

#ifdef STAGECRAFT_BAD
inline constexpr int micro_batches = 4;
#else
inline constexpr int micro_batches = 7;  // no multiple of 4
#endif
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = micro_batches,
                 .pipeline = {.gradient_accumulation_steps_per_replica = micro_batches}};

using trainer = sc::trainer<two_stages, training, machine>;  // <- here
