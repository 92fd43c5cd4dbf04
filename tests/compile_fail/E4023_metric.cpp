// SPDX-License-Identifier: BSD-3-Clause
// E4023: a metric does not fit the targets of its output.
// expect-error: metric 'categorical_accuracy' does not fit output 'dense_1'
// expect-error: [E4023]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .metrics = sc::metrics::categorical_accuracy{}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                                             .metrics = sc::metrics::accuracy{}};
#endif

using trainer = sc::trainer<mlp, training>;
static_assert(sizeof(trainer) > 0);
