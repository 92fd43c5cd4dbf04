// SPDX-License-Identifier: BSD-3-Clause
// E4081: a loss of one's own that has not the base of losses.
// expect-error: the training's loss is a value of type 'distance', which is no loss; one of your own is a struct with base sc::loss<its name>
// expect-error: [E4081]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{3}, dense{1}>;

#ifdef STAGECRAFT_BAD
struct distance {
  constexpr auto call(auto target, auto output) const { return square(output - target); }
};
inline constexpr auto training = sc::training{.loss = distance{}, .batch_size = 8};  // <- here
#else
struct distance : sc::loss<distance> {
  constexpr auto call(auto target, auto output) const { return square(output - target); }
};
inline constexpr auto training = sc::training{.loss = distance{}, .batch_size = 8};
#endif

using trainer = sc::trainer<line, training>;
static_assert(sizeof(trainer) > 0);
