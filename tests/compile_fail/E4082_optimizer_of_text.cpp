// SPDX-License-Identifier: BSD-3-Clause
// E4082: a text as the optimizer.
// expect-error: the training's optimizer is a text; optimizers are values of a class
// expect-error: [E4082]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{3}, dense{1}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.optimizer = "adam", .batch_size = 8};  // <- here
#else
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{}, .batch_size = 8};
#endif

using trainer = sc::trainer<line, training>;
static_assert(sizeof(trainer) > 0);
