// SPDX-License-Identifier: BSD-3-Clause
// E2024: gradients are accumulated over a number of micro-batches that does not fill the pipeline.
// expect-error: the training has gradient_accumulation_steps_per_replica 6, but the grouped schedule of 2 stages
// expect-error: works on 4 micro-batches at once
// expect-error: it must be a multiple of 4, such as 8
// expect-error: [E2024]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 6,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 6}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
