// SPDX-License-Identifier: BSD-3-Clause
// E2032: a schedule is asked for recomputation that it does not have.
// expect-error: the sequential schedule does not go with recompute_then_backpropagate; choose
// expect-error: recomputation_mode::automatic
// expect-error: [E2032]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                              .schedule = sc::schedule::sequential,
                              .recomputation_mode = sc::recomputation_mode::recompute_then_backpropagate}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .schedule = sc::schedule::sequential,
                                                           .recomputation_mode = sc::recomputation_mode::automatic}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
