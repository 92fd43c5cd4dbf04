// SPDX-License-Identifier: BSD-3-Clause
// E2095: a `predict` with a model that is not trained.
// expect-error: `predict` of a training step calls a model that `train` does not call: 'second' [E2095]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "first"> first;
  sc::trained<sc::sequential<input{4}, dense{1}>, "second"> second;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(first(x) - y)), weights_of(first));
  }
#ifdef STAGECRAFT_BAD
  constexpr auto predict(auto&, auto x) const { return second(x); }
#else
  constexpr auto predict(auto&, auto x) const { return first(x); }
#endif
};
using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
