// SPDX-License-Identifier: BSD-3-Clause
// E2029: batches are serialized in another schedule than the sequential one.
// expect-error: the training has batch_serialization_iterations 2 and the grouped schedule
// expect-error: in schedule::sequential only
// expect-error: [E2029]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>, sc::device_mapping<0, 0>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .batch_serialization_iterations = 2}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 16,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .schedule = sc::schedule::sequential,
                                                           .batch_serialization_iterations = 2}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
