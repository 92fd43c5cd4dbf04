// SPDX-License-Identifier: BSD-3-Clause
// E1151: a stateful convolution without causal padding.
// expect-error: layer 'conv1d' is stateful, but its padding is not causal; write .padding = sc::padding::causal
// expect-error: [E1151]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 3}.of_batch_size(1), conv1d{4, 3, {.stateful = true}}>;  // <- here
#else
using net =
    sc::sequential<input{8, 3}.of_batch_size(1), conv1d{4, 3, {.padding = sc::padding::causal, .stateful = true}}>;
#endif

static_assert(sc::call_count<net> == 2);
