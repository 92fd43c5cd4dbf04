// SPDX-License-Identifier: BSD-3-Clause
// E1067: the weights of a nested model are asked for by a name that it does not have.
// expect-error: model 'sequential_1' has no layer or nested model called 'encoder'
// expect-error: [E1067]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using encode = sc::sequential<dense{8, sc::relu}>;
#ifdef STAGECRAFT_BAD
using both = sc::sequential<input{28}, encode{}, dense{28}>;
#else
using both = sc::sequential<input{28}, encode{}.named("encoder"), dense{28}>;
#endif
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};

auto weights(sc::trainer<both, training>& model) { return model.get_weights<"encoder">(); }  // <- here
