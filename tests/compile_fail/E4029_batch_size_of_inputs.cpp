// SPDX-License-Identifier: BSD-3-Clause
// E4029: the training has another batch size than the inputs.
// expect-error: the training has batch_size 32, but the inputs of model 'sequential' have 8
// expect-error: [E4029]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}.of_batch_size(8), flatten{}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.batch_size = 32};
#else
inline constexpr auto training = sc::training{.batch_size = 8};
#endif

using trainer = sc::trainer<mlp, training>;  // <- here
static_assert(sizeof(trainer) > 0);
