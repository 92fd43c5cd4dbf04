// SPDX-License-Identifier: BSD-3-Clause
// E2037: results are to be accumulated as whole numbers.
// expect-error: the training has accumulate_outfeed_dtype uint8; results are accumulated as float32 or float16
// expect-error: [E2037]
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
                                                           .accumulate_outfeed = true,
                                                           .accumulate_outfeed_dtype = sc::dtype::uint8}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                           .accumulate_outfeed = true,
                                                           .accumulate_outfeed_dtype = sc::dtype::float16}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
