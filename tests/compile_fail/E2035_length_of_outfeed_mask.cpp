// SPDX-License-Identifier: BSD-3-Clause
// E2035: the mask of results does not fit the metrics.
// expect-error: the training has an outfeed_mask with 3 entries, but 2 metrics; give one entry for each metric,
// expect-error: or none
// expect-error: [E2035]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{}},
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .outfeed_mask = {true, false, false}}};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{}},
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .outfeed_mask = {true, false}}};
#endif

using trainer = sc::trainer<two_stages, training>;  // <- here
