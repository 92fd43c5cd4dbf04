// SPDX-License-Identifier: BSD-3-Clause
// E2086: a value of one sub-step is used in the next one, whose weights are others.
// expect-error: a loss of a training step depends on a value from before a minimize, whose weights have changed since; compute
// expect-error: it again after it
// expect-error: [E2086]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line, other;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto found = line(x);
    step.minimize(optimizer, step.mean(square(found - y)), weights_of(line));
#ifndef STAGECRAFT_BAD
    found = line(x);
#endif
    step.minimize(optimizer, step.mean(square(other(x) - found)), weights_of(other));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
