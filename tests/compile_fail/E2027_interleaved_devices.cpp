// SPDX-License-Identifier: BSD-3-Clause
// E2027: the interleaved schedule trains two stages on one device.
// expect-error: stages 0 and 2 of model 'sequential' are both on device 0
// expect-error: in the interleaved schedule each stage that is trained has a device of its own
// expect-error: [E2027]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using three_stages = sc::pipelined<mlp, sc::stages<0, 1, 2>, sc::device_mapping<0, 1, 0>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 12,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 12, .schedule = sc::interleaved}};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
                 .steps_per_execution = 12,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 12, .schedule = sc::grouped}};
#endif

using trainer = sc::trainer<three_stages, training>;  // <- here
