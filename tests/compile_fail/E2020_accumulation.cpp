// SPDX-License-Identifier: BSD-3-Clause
// E2020: the number of accumulated steps is negative.
// expect-error: the training has gradient_accumulation_steps_per_replica -4; it must be at least 1
// expect-error: [E2020]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .pipeline = {.gradient_accumulation_steps_per_replica = -4}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .steps_per_execution = 4,
                                             .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
#endif

using trainer = sc::trainer<mlp, training>;
static_assert(sizeof(trainer) > 0);
