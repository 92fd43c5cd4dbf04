// SPDX-License-Identifier: BSD-3-Clause
// E4093: an output of a model that is trained has steps that are masked.
// expect-error: output 'lstm' of model 'sequential' has masked steps, which Keras leaves out of the loss; stagecraft cannot yet
// expect-error: [E4093]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{9, 3}, masking{}, lstm{8, {.return_sequences = true}}>;
#else
using net = sc::sequential<input{9, 3}, masking{}, lstm{8}>;
#endif
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{}, .loss = sc::losses::mean_squared_error{}};
using trainer = sc::trainer<net, training>;  // <- here
static_assert(sizeof(trainer) > 0);
