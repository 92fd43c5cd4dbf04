// SPDX-License-Identifier: BSD-3-Clause
// E2046: the machine has fewer devices than all replicas need.
// expect-error: the training has num_replicas 2, and each replica of model 'sequential' takes 4 devices (a power
// expect-error: of two); that makes 8, but the machine has 6
// expect-error: [E2046]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using three_stages = sc::pipelined<mlp, sc::stages<0, 1, 2>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 12,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 12},
                                              .num_replicas = 2};

#ifdef STAGECRAFT_BAD
using machine = sc::host<1, 6>;
#else
using machine = sc::host<1, 8>;
#endif

using trainer = sc::trainer<three_stages, training, machine>;  // <- here
