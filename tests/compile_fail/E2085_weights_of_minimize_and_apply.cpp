// SPDX-License-Identifier: BSD-3-Clause
// E2085: minimize and apply move the weights of one model.
// expect-error: the weights of model 'line' are moved by minimize and by apply; weights belong to one of them
// expect-error: [E2085]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  sc::trained<sc::sequential<input{4}, dense{1}>, "other"> other;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x) const {
    step.minimize(optimizer, step.mean(square(line(x))), weights_of(line));
#ifdef STAGECRAFT_BAD
    auto const moved = weights_of(line);
#else
    auto const moved = weights_of(other);
#endif
    auto const loss = step.mean(square(line(x) - other(x)));
    step.apply(optimizer, moved, step.gradient(loss, moved));
    step.metric("loss", loss);
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
