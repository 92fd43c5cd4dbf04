// SPDX-License-Identifier: BSD-3-Clause
// E2116: a step calls a model in the place of its member.
// expect-error: a training step calls a model (sequential_model), which is no member of it; give the step a member
// expect-error: sc::trained<model, "name">, and call that
// expect-error: [E2116]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line_model = sc::sequential<input{4}, dense{1}>;
struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<line_model, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
#ifdef STAGECRAFT_BAD
    auto const out = line_model{}(x);
#else
    auto const out = line(x);
#endif
    step.minimize(optimizer, step.mean(square(out - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
