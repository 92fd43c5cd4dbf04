// SPDX-License-Identifier: BSD-3-Clause
// E2091: weights of a model that a training step has not.
// expect-error: a training step has no model named 'lines'; its first one is 'line'
// expect-error: [E2091]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

auto weights(sc::step_trainer<own_step> const& model) {
#ifdef STAGECRAFT_BAD
  return model.get_weights<"lines">();  // <- here
#else
  return model.get_weights<"line">();
#endif
}
