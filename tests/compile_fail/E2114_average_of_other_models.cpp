// SPDX-License-Identifier: BSD-3-Clause
// E2114: a model is moved towards one of another type.
// expect-error: step.average moves a model towards 'line', which is a model of another type; both are members of
// expect-error: the step of one type, as sc::trained<net, "slow">
// expect-error: [E2114]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
#ifdef STAGECRAFT_BAD
  sc::trained<sc::sequential<input{4}, dense{2}>, "slow"> slow;
#else
  sc::trained<sc::sequential<input{4}, dense{1}>, "slow"> slow;
#endif
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
    step.minimize(optimizer, loss, weights_of(line));
    step.average(weights_of(slow), weights_of(line), 0.99F);
    step.metric("loss", loss);
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
