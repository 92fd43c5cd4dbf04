// SPDX-License-Identifier: BSD-3-Clause
// E2044: a negative number of replicas.
// expect-error: the training has num_replicas -1; it must be at least 1, or 0 for as many as the machine has
// expect-error: devices for
// expect-error: [E2044]
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
                                              .num_replicas = -1};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                              .num_replicas = 2};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
