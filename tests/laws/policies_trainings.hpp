// SPDX-License-Identifier: BSD-3-Clause
// Models and training descriptions that have all losses, optimizers and ways to accumulate gradients.
#pragma once

#include "policies_models.hpp"

namespace laws {

using classes = sc::sequential<input{6}, dense{8, sc::tanh}, dense{5}>;
using probabilities = sc::sequential<input{6}, dense{8, sc::tanh}, dense{5, sc::softmax}>;
using one_probability = sc::sequential<input{6}, dense{8, sc::tanh}, dense{1, sc::sigmoid}>;

template <auto Loss, auto Optimizer = sc::optimizers::sgd{.learning_rate = 0.02F}>
inline constexpr auto with = sc::training{.loss = Loss, .optimizer = Optimizer, .batch_size = 4};
template <auto Optimizer>
inline constexpr auto by = with<sc::losses::sparse_categorical_crossentropy{.from_logits = true}, Optimizer>;

/// Two inputs, and outputs with losses and weights of their own.
struct two_outputs : sc::functional<two_outputs> {
  static constexpr auto build(auto& model) {
    auto one = model.input(3), two = model.input(2);
    auto joined = concatenate()(dense(4, sc::tanh)(one), dense(3, sc::sigmoid)(two));
    auto a = dense(5)(joined);
    return sc::outputs(a, dense(2)(concatenate()(a, joined)));
  }
};
inline constexpr auto of_two =
    sc::training{.loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::huber{.delta = 0.5F}),
                 .optimizer = sc::optimizers::adam{},
                 .loss_weights = {0.25, 2},
                 .batch_size = 4};

template <sc::gradient_accumulation_options Options, int Replicas = 0>
inline constexpr auto accumulating = sc::training{.loss = sc::losses::mean_squared_error{},
                                                  .optimizer = sc::optimizers::adam{},
                                                  .batch_size = 4,
                                                  .gradient_accumulation = Options,
                                                  .num_replicas = Replicas};

}  // namespace laws
