// SPDX-License-Identifier: BSD-3-Clause
// E4020: the batch size is below 1.
// expect-error: the training has batch_size 0; it must be at least 1
// expect-error: [E4020]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .batch_size = 0};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .batch_size = 32};
#endif

using trainer = sc::trainer<mlp, training>;
static_assert(sizeof(trainer) > 0);
