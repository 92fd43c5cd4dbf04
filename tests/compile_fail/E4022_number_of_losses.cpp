// SPDX-License-Identifier: BSD-3-Clause
// E4022: there are not as many losses as outputs.
// expect-error: the training has 2 losses, but model 'sequential' has 1 output
// expect-error: give one loss for each output, or one for all
// expect-error: [E4022]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{
    .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{},
                                      sc::losses::mean_squared_error{})};
#else
inline constexpr auto training = sc::training{
    .loss = sc::losses::sparse_categorical_crossentropy{}};
#endif

using trainer = sc::trainer<mlp, training>;
static_assert(sizeof(trainer) > 0);
