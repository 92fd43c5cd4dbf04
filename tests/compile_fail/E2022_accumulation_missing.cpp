// SPDX-License-Identifier: BSD-3-Clause
// E2022: a model with pipeline stages is trained without gradient accumulation.
// expect-error: the model has pipeline stages, but its training has no gradient_accumulation_steps_per_replica
// expect-error: a pipeline is trained on several micro-batches per weight update (evaluate and predict need none)
// expect-error: [E2022]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 32};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 32,
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
#endif

void train(sc::sample_set const& x, sc::sample_set const& y) {
  sc::trainer<two_stages, training> model;
  model.fit(x, y);  // <- here
}
