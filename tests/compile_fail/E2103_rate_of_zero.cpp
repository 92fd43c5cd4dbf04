// SPDX-License-Identifier: BSD-3-Clause
// E2103: a factor of 0, for layers of a model in a training step.
// expect-error: the training's layer_rates give layers 'hidden' a factor that is not above 0 and finite;
// expect-error: sc::frozen makes a model whose layers are not trained [E2103]
#include <stagecraft/description/layer_rates.hpp>
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr float factor = 0;
#else
constexpr float factor = 0.1F;
#endif
struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{3, sc::tanh, {.name = "hidden"}}, dense{1}>, "line"> line;
  static constexpr auto optimizer =
      sc::optimizers::layer_rates{.optimizer = sc::optimizers::sgd{}, .rates = {{"hidden", factor}}};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
