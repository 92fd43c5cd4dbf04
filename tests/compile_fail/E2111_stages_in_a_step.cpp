// SPDX-License-Identifier: BSD-3-Clause
// E2111: a model with pipeline stages in a step that is not what `fit` does.
// expect-error: a training step calls model 'two_stages', which has pipeline stages
// expect-error: [E2111]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{4}, dense{8}, dense{1}>;
using two_stages = sc::pipelined<line, sc::stages<0, 1>>;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<two_stages, "two_stages"> model;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
#ifdef STAGECRAFT_BAD
    auto const loss = step.mean(square(model(x) - y));
#else
    auto const loss = step.loss(sc::losses::mean_squared_error{}, y, model(x));
#endif
    step.minimize(optimizer, loss, weights_of(model));
  }
};

inline constexpr auto options =
    sc::step_options{.batch_size = 4, .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
using trainer = sc::step_trainer<own_step, options>;  // <- here
static_assert(sizeof(trainer) > 0);
