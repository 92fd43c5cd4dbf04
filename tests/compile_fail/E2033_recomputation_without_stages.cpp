// SPDX-License-Identifier: BSD-3-Clause
// E2033: a model without stages is to recompute what its stages do not keep.
// expect-error: the training has a recomputation_mode, but model 'sequential' has no pipeline stages
// expect-error: [E2033]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .recomputation_mode = sc::recomputation_mode::automatic}};

#ifdef STAGECRAFT_BAD
using model_type = mlp;
#else
using model_type = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
#endif

using trainer = sc::trainer<model_type, training>;  // <- here
