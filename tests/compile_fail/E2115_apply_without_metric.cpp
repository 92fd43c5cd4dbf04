// SPDX-License-Identifier: BSD-3-Clause
// E2115: a step applies gradients and reports nothing.
// expect-error: a training step calls step.apply or step.average and reports nothing; name what it reports:
// expect-error: step.metric("loss", loss)
// expect-error: [E2115]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
#ifdef STAGECRAFT_BAD
    step.apply(optimizer, weights_of(line), step.gradient(loss, weights_of(line)));
#else
    step.apply(optimizer, weights_of(line), step.gradient(loss, weights_of(line)));
    step.metric("loss", loss);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
