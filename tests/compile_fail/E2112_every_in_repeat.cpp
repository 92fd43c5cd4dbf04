// SPDX-License-Identifier: BSD-3-Clause
// E2112: step.every stands inside of step.repeat.
// expect-error: a training step calls step.every inside of step.repeat; write step.every outside, and step.repeat
// expect-error: inside of it
// expect-error: [E2112]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const once = [&] { step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line)); };
#ifdef STAGECRAFT_BAD
    step.repeat(2, [&] { step.every(10, once); });
#else
    step.every(10, [&] { step.repeat(2, once); });
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
