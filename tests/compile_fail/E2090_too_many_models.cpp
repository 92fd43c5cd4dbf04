// SPDX-License-Identifier: BSD-3-Clause
// E2090: a training step with more metrics than it may have.
// expect-error: a training step has 1 sub-steps, 1 models and 9 metrics; it may have 8 of each
// expect-error: [E2090]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(line(x) - y));
    step.minimize(optimizer, loss, weights_of(line));
    constexpr char const* names[]{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
#ifdef STAGECRAFT_BAD
    for (char const* name : names) step.metric(name, loss);
#else
    step.metric(names[0], loss);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
