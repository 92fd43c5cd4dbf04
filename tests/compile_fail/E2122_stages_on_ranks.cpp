// SPDX-License-Identifier: BSD-3-Clause
// E2122: stages on several ranks with what they do not have there.
// expect-error: the stages of a model are trained on several ranks with ranks of several threads; stages of one replica
// expect-error: on ranks do not have that yet
// expect-error: [E2122]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using staged = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 4,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

#ifdef STAGECRAFT_BAD
using machine = sc::cluster<sc::host<2>, sc::ranks{2}>;
#else
using machine = sc::cluster<sc::host<1>, sc::ranks{2}>;
#endif

using trainer = sc::trainer<staged, training, machine>;  // <- here
