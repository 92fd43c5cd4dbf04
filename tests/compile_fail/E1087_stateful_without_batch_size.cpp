// SPDX-License-Identifier: BSD-3-Clause
// E1087: a stateful layer in a model whose batches may be of any size.
// expect-error: layer 'lstm' keeps its state 'states_0' from batch to batch, but no input says how many samples a batch
// expect-error: has; write input{...}.of_batch_size(...)
// expect-error: [E1087]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{9, 4}, lstm{8, {.stateful = true}}, dense{2}>;  // <- here
#else
using net = sc::sequential<input{9, 4}.of_batch_size(16), lstm{8, {.stateful = true}}, dense{2}>;
#endif
static_assert(sc::call_count<net> == 3);
