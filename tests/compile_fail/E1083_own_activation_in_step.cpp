// SPDX-License-Identifier: BSD-3-Clause
// E1083: a model of a training step has an activation of one's own that takes too many operations.
// expect-error: operations with its gradient; there are at most 128
// expect-error: [E1083]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct iterated : sc::own_activation<iterated> {
  static constexpr std::string_view name = "iterated";
#ifdef STAGECRAFT_BAD
  int times = 30;
#else
  int times = 5;
#endif
  constexpr auto call(auto x) const {
    for (int i = 0; i < times; ++i) x = sin(x) * 1.5F;
    return x;
  }
};

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1, iterated{}}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step, sc::step_options{.batch_size = 8}>;  // <- here
static_assert(sizeof(trainer) > 0);
