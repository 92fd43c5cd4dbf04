// SPDX-License-Identifier: BSD-3-Clause
// E2041: callbacks are to see every step, but only the last one's results are sent.
// expect-error: the training has asynchronous_callbacks and outfeed_mode last
// expect-error: [E2041]
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
                                              .outfeed_queue = {.outfeed_mode = sc::outfeed_mode::last},
                                              .asynchronous_callbacks = true};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                              .outfeed_queue = {.outfeed_mode = sc::outfeed_mode::all},
                                              .asynchronous_callbacks = true};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
