// SPDX-License-Identifier: BSD-3-Clause
// E2120: a profile of a cluster whose network is not described.
// expect-error: a profile is asked for a cluster whose network is not described; name it, such as
// expect-error: sc::network{.gigabits = 100, .latency_us = 2}
// expect-error: [E2120]
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .num_replicas = 4};

#ifdef STAGECRAFT_BAD
using rack = sc::cluster<sc::host<2>, sc::ranks{.count = 4, .gigaflops = 200}>;
#else
using rack = sc::cluster<sc::host<2>, sc::ranks{.count = 4, .gigaflops = 200}, sc::network{.gigabits = 100}>;
#endif

static_assert(sc::profile<mlp, training, rack>.ranks() == 4);  // <- here
