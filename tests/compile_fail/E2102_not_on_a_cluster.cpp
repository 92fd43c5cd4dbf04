// SPDX-License-Identifier: BSD-3-Clause
// E2102: what a cluster does not have.
// expect-error: a cluster is given .asynchronous_callbacks; its callbacks are called between executions
// expect-error: [E2102]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .num_replicas = 4,
                 .asynchronous_callbacks = true};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .num_replicas = 4};
#endif

using trainer = sc::trainer<mlp, training, machine>;  // <- here
