// SPDX-License-Identifier: BSD-3-Clause
// E2030: batches are serialized over several devices.
// expect-error: model 'sequential' has stage 0 on device 0 and stage 1 on device 1
// expect-error: batches are serialized where all stages are on one device, see device_mapping
// expect-error: [E2030]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 16,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .schedule = sc::schedule::sequential,
                                                           .batch_serialization_iterations = 2}};

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
#else
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>, sc::device_mapping<0, 0>>;
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
