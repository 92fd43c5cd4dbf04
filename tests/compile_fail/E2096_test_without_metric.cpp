// SPDX-License-Identifier: BSD-3-Clause
// E2096: a `test` that reports nothing.
// expect-error: `test` of a training step reports 0 metrics; it reports at least one, with step.metric("loss", loss)
// expect-error: [E2096]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
  constexpr void test(auto& step, auto x, auto y) const {
    [[maybe_unused]] auto const loss = step.mean(square(line(x) - y));
#ifndef STAGECRAFT_BAD
    step.metric("loss", loss);
#endif
  }
};
using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
