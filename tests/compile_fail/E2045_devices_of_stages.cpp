// SPDX-License-Identifier: BSD-3-Clause
// E2045: the machine has fewer devices than the stages of a model need.
// expect-error: the stages of model 'sequential' are on 2 devices, but the machine has 1
// expect-error: [E2045]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

#ifdef STAGECRAFT_BAD
using machine = sc::host<1, 1>;
#else
using machine = sc::host<1, 2>;
#endif

using trainer = sc::trainer<two_stages, training, machine>;  // <- here
