// SPDX-License-Identifier: BSD-3-Clause
// E2084: a loss that depends on none of the weights that its minimize moves.
// expect-error: the loss of minimize number 1 of a training step depends on none of the weights that it moves
// expect-error: [E2084]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
#ifdef STAGECRAFT_BAD
    auto const found = step.stop_gradient(line(x));
#else
    auto const found = line(x);
#endif
    step.minimize(optimizer, step.mean(square(found - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
