// SPDX-License-Identifier: BSD-3-Clause
// E2097: `evaluate` of a training step that has no `test`.
// expect-error: evaluate is called of a training step without `test`
// expect-error: give it `constexpr void test(auto& step, auto x) const` [E2097]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("error", loss);
  }
#ifndef STAGECRAFT_BAD
  constexpr void test(auto& step, auto x, auto y) const { step.metric("error", step.mean(square(line(x) - y))); }
#endif
};

auto test(sc::step_trainer<own_step>& model, sc::sample_set const& data) {
  return model.evaluate(data);  // <- here
}
