// SPDX-License-Identifier: BSD-3-Clause
// E2069: a stateful model has several replicas.
// expect-error: the training has 2 replicas, but model 'sequential' is stateful: what a layer keeps of a batch belongs
// expect-error: to the next one, which another replica takes; write .num_replicas = 1
// expect-error: [E2069]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{9, 4}.of_batch_size(8), simple_rnn{8, {.stateful = true}}, dense{2}>;
#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.batch_size = 8, .num_replicas = 2};
#else
inline constexpr auto training = sc::training{.batch_size = 8, .num_replicas = 1};
#endif

using trainer = sc::trainer<net, training>;  // <- here
