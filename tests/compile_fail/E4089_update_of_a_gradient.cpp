// SPDX-License-Identifier: BSD-3-Clause
// E4089: an optimizer of one's own that updates the gradient.
// expect-error: the training's optimizer updates something that is neither the weight nor a slot
// expect-error: [E4089]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct bounded : sc::optimizer<bounded> {
  float learning_rate = 0.01F;
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const limited = sc::minimum(sc::maximum(gradient, -1.0F), 1.0F);
#ifdef STAGECRAFT_BAD
    ops.update(gradient, limited);
#endif
    ops.update(weight, weight - ops.learning_rate() * limited);
  }
};

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr auto training = sc::training{.optimizer = bounded{}, .loss = sc::losses::mean_squared_error{}};
using trainer = sc::trainer<line, training>;  // <- here
static_assert(sizeof(trainer) > 0);
