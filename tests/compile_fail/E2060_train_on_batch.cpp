// SPDX-License-Identifier: BSD-3-Clause
// E2060: a single batch of a model whose weights are updated from several micro-batches.
// expect-error: train_on_batch is called on a model with pipeline stages
// expect-error: weights are updated from 8 micro-batches
// expect-error: [E2060]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

double train(sc::sample_set const& x, sc::sample_set const& y) {
#ifdef STAGECRAFT_BAD
  sc::trainer<two_stages, training> model;
  return model.train_on_batch(x, y)[0];  // <- here
#else
  sc::trainer<sc::unpipelined<two_stages>, training> model;
  return model.train_on_batch(x, y)[0];
#endif
}
