// SPDX-License-Identifier: BSD-3-Clause
// E2113: the gradients of one of two weights are applied.
// expect-error: step.apply is given 1 gradients for model 'line', which has 2 trained weights;
// expect-error: step.gradient(loss, weights_of(model)) has one for each
// expect-error: [E2113]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
    auto gradients = step.gradient(loss, weights_of(line));
#ifdef STAGECRAFT_BAD
    gradients.pop_back();
#else
    gradients.back() = gradients.back() * 2.0F;
#endif
    step.apply(optimizer, weights_of(line), gradients);
    step.metric("loss", loss);
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
