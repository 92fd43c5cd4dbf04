// SPDX-License-Identifier: BSD-3-Clause
// E4081: a text as the loss.
// expect-error: the training's loss is a text; losses are values of a class
// expect-error: [E4081]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{3}, dense{1}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = "mse", .batch_size = 8};  // <- here
#else
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};
#endif

using trainer = sc::trainer<line, training>;
static_assert(sizeof(trainer) > 0);
