// SPDX-License-Identifier: BSD-3-Clause
// E2065: options of Poplar for another number of stages.
// expect-error: the training's pipeline has 1 entry in
// expect-error: forward_propagation_stages_poplar_options, but model 'sequential' has 2 pipeline stages
// expect-error: give one for each, or none
// expect-error: [E2065]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

inline constexpr sc::pipeline_stage_options frugal{.matmul_options = {.available_memory_proportion = 0.1F}};
#ifdef STAGECRAFT_BAD
inline constexpr auto& options = sc::stage_options<frugal>;
#else
inline constexpr auto& options = sc::stage_options<frugal, sc::pipeline_stage_options{}>;
#endif
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 4,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4,
                                                           .forward_propagation_stages_poplar_options = options}};

using trainer = sc::trainer<two_stages, training>;  // <- here
