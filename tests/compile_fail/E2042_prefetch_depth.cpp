// SPDX-License-Identifier: BSD-3-Clause
// E2042: more batches are to be made ready than an infeed queue holds.
// expect-error: the training's infeed_queue has prefetch_depth 256; it must be 1 to 255, or 0 if it is not set
// expect-error: [E2042]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                              .infeed_queue = {.prefetch_depth = 256}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                              .infeed_queue = {.prefetch_depth = 255}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
