// SPDX-License-Identifier: BSD-3-Clause
// E2122: stages on several ranks with what they do not have there.
// expect-error: the stages of a model with stateful layers are trained on several ranks; these do not exchange the states
// expect-error: that layers keep between batches
// expect-error: [E2122]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{9, 4}.of_batch_size(8), simple_rnn{8, {.stateful = true}}, dense{2}>;
#else
using net = sc::sequential<input{9, 4}.of_batch_size(8), simple_rnn{8}, dense{2}>;
#endif
using staged = sc::pipelined<net, sc::stages<0, 1>>;
inline constexpr auto training =
    sc::training{.batch_size = 8, .steps_per_execution = 4, .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

using trainer = sc::trainer<staged, training, sc::cluster<sc::host<1>, sc::ranks{2}>>;  // <- here
