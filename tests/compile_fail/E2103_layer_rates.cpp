// SPDX-License-Identifier: BSD-3-Clause
// E2103: a rate for layers that the model has not.
// expect-error: the training's layer_rates have the pattern 'conv.*', but no trained layer of model 'sequential' has a name
// expect-error: that begins so [E2103]
#include <stagecraft/description/layer_rates.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8}, dense{4, sc::tanh}, dense{1}>;
#ifdef STAGECRAFT_BAD
constexpr char const* layers_of_rate = "conv.*";
#else
constexpr char const* layers_of_rate = "dense$";
#endif
inline constexpr auto training = sc::training{
    .optimizer = sc::optimizers::layer_rates{.optimizer = sc::optimizers::adam{}, .rates = {{layers_of_rate, 0.1F}}},
    .loss = sc::losses::mean_squared_error{}};
using trainer = sc::trainer<network, training>;  // <- here
static_assert(sizeof(trainer) > 0);
