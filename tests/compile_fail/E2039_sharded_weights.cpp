// SPDX-License-Identifier: BSD-3-Clause
// E2039: the parts of divided weights are to stay on the devices.
// expect-error: the training has replicated_weight_sharding and offload_weights on_device
// expect-error: [E2039]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .offload_weights = sc::offload::on_device,
                                                           .replicated_weight_sharding = true},
                                              .num_replicas = 2};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .offload_weights = sc::offload::automatic,
                                                           .replicated_weight_sharding = true},
                                              .num_replicas = 2};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
