// SPDX-License-Identifier: BSD-3-Clause
// E2101: replicas that cannot be divided among the ranks.
// expect-error: a model of 6 replicas is trained on a cluster of 4 ranks, which cannot have equal numbers of them;
// expect-error: num_replicas is a multiple of the ranks
// expect-error: [E2101]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .num_replicas = 6};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .num_replicas = 8};
#endif

using trainer = sc::trainer<mlp, training, machine>;  // <- here
