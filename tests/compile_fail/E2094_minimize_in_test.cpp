// SPDX-License-Identifier: BSD-3-Clause
// E2094: a `test` that moves weights.
// expect-error: `test` of a training step calls minimize; only `train` moves weights [E2094]
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
    auto const loss = step.mean(square(line(x) - y));
#ifdef STAGECRAFT_BAD
    step.minimize(optimizer, loss, weights_of(line));
#endif
    step.metric("loss", loss);
  }
};
using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
