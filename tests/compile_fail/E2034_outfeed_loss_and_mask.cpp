// SPDX-License-Identifier: BSD-3-Clause
// E2034: results are chosen in two ways at once.
// expect-error: the training has outfeed_loss and an outfeed_mask; outfeed_loss leaves out all metrics already
// expect-error: [E2034]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{
    .loss = sc::losses::sparse_categorical_crossentropy{},
    .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{}},
    .steps_per_execution = 8,
    .pipeline = {.gradient_accumulation_steps_per_replica = 8, .outfeed_loss = true, .outfeed_mask = {true, false}}};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{}},
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .outfeed_mask = {true, false}}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
