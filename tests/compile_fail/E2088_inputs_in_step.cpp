// SPDX-License-Identifier: BSD-3-Clause
// E2088: a model of a training step is called with a tensor of another shape.
// expect-error: model 'sequential' takes a tensor of shape (2, 3) in a training step, but is called with (2, 4)
// expect-error: [E2088]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
#ifdef STAGECRAFT_BAD
  sc::trained<sc::sequential<input{3}, dense{1}>> line;
#else
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
#endif
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
