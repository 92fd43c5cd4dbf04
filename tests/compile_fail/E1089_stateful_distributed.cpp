// SPDX-License-Identifier: BSD-3-Clause
// E1089: a stateful layer is distributed over the steps of a sequence.
// expect-error: layer 'time_distributed' distributes a layer that is stateful over the steps of a sequence, which are
// expect-error: samples to it
// expect-error: [E1089]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{5, 9, 4}.of_batch_size(16), time_distributed{lstm{8, {.stateful = true}}}>;  // <- here
#else
using net = sc::sequential<input{5, 9, 4}.of_batch_size(16), time_distributed{lstm{8}}, lstm{8, {.stateful = true}}>;
#endif
static_assert(sc::call_count<net> == 3);
