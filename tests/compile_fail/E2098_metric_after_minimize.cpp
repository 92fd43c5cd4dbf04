// SPDX-License-Identifier: BSD-3-Clause
// E2098: a metric is computed after the last minimize.
// expect-error: a training step reports 'after', which is computed after its last minimize; compute it before, or in `test`
// expect-error: [E2098]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
    step.minimize(optimizer, loss, weights_of(line));
#ifdef STAGECRAFT_BAD
    step.metric("after", step.mean(square(line(x) - y)));
#else
    step.metric("before", loss);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
