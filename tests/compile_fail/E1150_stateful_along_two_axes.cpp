// SPDX-License-Identifier: BSD-3-Clause
// E1150: a stateful layer whose window moves along two axes.
// expect-error: layer 'conv2d' is stateful; only layers whose window moves along one axis, the steps of a sequence,
// expect-error: [E1150]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 3}.of_batch_size(1), conv2d{8, 3, {.stateful = true}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 3}.of_batch_size(1), conv2d{8, 3, {.padding = sc::padding::same}}>;
#endif

static_assert(sc::call_count<net> == 2);
