// SPDX-License-Identifier: BSD-3-Clause
// E2099: one repeat stands inside another one.
// expect-error: a training step calls step.repeat inside of step.repeat; write one, with the product of the counts
// expect-error: [E2099]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const once = [&] { step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line)); };
#ifdef STAGECRAFT_BAD
    step.repeat(2, [&] { step.repeat(3, once); });
#else
    step.repeat(6, once);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
