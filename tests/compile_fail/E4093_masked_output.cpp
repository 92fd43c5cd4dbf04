// SPDX-License-Identifier: BSD-3-Clause
// E4093: an output of a model that is trained has steps that no input of the model masks.
// expect-error: output 'lstm' of model 'sequential' has masked steps, which its loss can leave out only if an input of
// expect-error: [E4093]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{9, 3}, dense{4}, masking{}, lstm{8, {.return_sequences = true}}>;
#else
using net = sc::sequential<input{9, 3}, masking{}, dense{4}, lstm{8, {.return_sequences = true}}>;
#endif
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{}, .loss = sc::losses::mean_squared_error{}};
using trainer = sc::trainer<net, training>;  // <- here
static_assert(sizeof(trainer) > 0);
