// SPDX-License-Identifier: BSD-3-Clause
// E2026: a pipelined model's accumulation is given with the options for models without stages.
// expect-error: the model has pipeline stages, but its training sets gradient_accumulation, which is for models
// expect-error: without stages
// expect-error: [E2026]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 8,
                                              .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 8}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
#endif

void train(sc::sample_set const& x, sc::sample_set const& y) {
  sc::trainer<two_stages, training> model;
  model.fit(x, y);  // <- here
}
