// SPDX-License-Identifier: BSD-3-Clause
// E3005: a stage has partial sums of a type that no plan has.
// expect-error: option forward_propagation_stages_poplar_options[1].matmul_options.partials_type is
// expect-error: int32; it must be float32 or float16
// expect-error: [E3005]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr sc::pipeline_stage_options own{.matmul_options = {.partials_type = sc::dtype::int32}};
#else
inline constexpr sc::pipeline_stage_options own{.matmul_options = {.partials_type = sc::dtype::float16}};
#endif
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 4,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4,
                              .forward_propagation_stages_poplar_options =
                                  sc::stage_options<sc::pipeline_stage_options{}, own>}};

using trainer = sc::trainer<two_stages, training>;  // <- here
