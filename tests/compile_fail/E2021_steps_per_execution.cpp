// SPDX-License-Identifier: BSD-3-Clause
// E2021: an execution does not hold a whole number of weight updates.
// expect-error: the training has steps_per_execution 10
// expect-error: not a multiple of gradient_accumulation_steps_per_replica 4
// expect-error: [E2021]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .steps_per_execution = 10,
                                             .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .steps_per_execution = 12,
                                             .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
#endif

using trainer = sc::trainer<mlp, training>;
static_assert(sizeof(trainer) > 0);
