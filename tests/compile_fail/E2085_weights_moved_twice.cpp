// SPDX-License-Identifier: BSD-3-Clause
// E2085: two calls of minimize move the weights of one model.
// expect-error: the weights of model 'line' are moved by two calls of minimize; write step.repeat(n, [&] { ... }) around one
// expect-error: that is carried out several times
// expect-error: [E2085]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const once = [&] { step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line)); };
#ifdef STAGECRAFT_BAD
    for (int i = 0; i < 2; ++i) once();
#else
    step.repeat(2, once);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
