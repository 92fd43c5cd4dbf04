// SPDX-License-Identifier: BSD-3-Clause
// E2089: two values are reported under one name.
// expect-error: a training step reports 'error' twice; each value has a name of its own
// expect-error: [E2089]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const error = line(x) - y, loss = step.mean(square(error));
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("error", step.mean(abs(error)));
#ifdef STAGECRAFT_BAD
    step.metric("error", loss);
#else
    step.metric("loss", loss);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
