// SPDX-License-Identifier: BSD-3-Clause
// E2083: a training step minimizes a tensor of several numbers.
// expect-error: a training step minimizes a tensor of shape (2, 1); a loss is one number, such as step.mean(loss)
// expect-error: [E2083]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const errors = square(line(x) - y);
#ifdef STAGECRAFT_BAD
    step.minimize(optimizer, errors, weights_of(line));
#else
    step.minimize(optimizer, step.mean(errors), weights_of(line));
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
