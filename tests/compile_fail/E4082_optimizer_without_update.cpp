// SPDX-License-Identifier: BSD-3-Clause
// E4082: an optimizer of one's own that does not say what becomes of a weight.
// expect-error: the training's optimizer 'bounded' does not say what it does; give it `float learning_rate` and
// expect-error: [E4082]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct bounded : sc::optimizer<bounded> {
  float learning_rate = 0.01F;
#ifndef STAGECRAFT_BAD
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    ops.update(weight, weight - ops.learning_rate() * gradient / (abs(gradient) + 1));
  }
#endif
};

using line = sc::sequential<input{3}, dense{1}>;

inline constexpr auto training = sc::training{.optimizer = bounded{}, .batch_size = 8};  // <- here

using trainer = sc::trainer<line, training>;
static_assert(sizeof(trainer) > 0);
