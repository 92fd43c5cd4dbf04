// SPDX-License-Identifier: BSD-3-Clause
// E2036: gradients are to be accumulated as whole numbers.
// expect-error: the training has gradient_accumulation_dtype int32; gradients are accumulated as float32 or
// expect-error: float16
// expect-error: [E2036]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{
    .loss = sc::losses::sparse_categorical_crossentropy{},
    .steps_per_execution = 8,
    .pipeline = {.gradient_accumulation_steps_per_replica = 8, .gradient_accumulation_dtype = sc::dtype::int32}};
#else
inline constexpr auto training = sc::training{
    .loss = sc::losses::sparse_categorical_crossentropy{},
    .steps_per_execution = 8,
    .pipeline = {.gradient_accumulation_steps_per_replica = 8, .gradient_accumulation_dtype = sc::dtype::float16}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
