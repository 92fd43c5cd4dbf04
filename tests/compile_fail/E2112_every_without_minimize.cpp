// SPDX-License-Identifier: BSD-3-Clause
// E2112: nothing inside of step.every ends a sub-step.
// expect-error: a training step calls step.every without a minimize inside, which ends a sub-step
// expect-error: [E2112]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
#ifdef STAGECRAFT_BAD
    step.minimize(optimizer, loss, weights_of(line));
    step.every(10, [&] { step.metric("loss", loss); });
#else
    step.every(10, [&] { step.minimize(optimizer, loss, weights_of(line)); });
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
