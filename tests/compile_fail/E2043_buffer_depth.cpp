// SPDX-License-Identifier: BSD-3-Clause
// E2043: an outfeed queue has room for nothing.
// expect-error: the training's outfeed_queue has buffer_depth 0; it must be at least 1
// expect-error: [E2043]
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
                                              .outfeed_queue = {.buffer_depth = 0}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                              .outfeed_queue = {.buffer_depth = 1}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
