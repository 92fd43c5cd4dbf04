// SPDX-License-Identifier: BSD-3-Clause
// E1152: strides of a stateful convolution that do not divide the steps of a call.
// expect-error: layer 'conv1d' is stateful and has strides of 2, which do not divide the 7 steps of its input
// expect-error: [E1152]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{7, 3}.of_batch_size(1),
                           conv1d{4, 3, {.strides = 2, .padding = sc::padding::causal, .stateful = true}}>;
#else
using net = sc::sequential<input{8, 3}.of_batch_size(1),
                           conv1d{4, 3, {.strides = 2, .padding = sc::padding::causal, .stateful = true}}>;
#endif

static_assert(sc::call_count<net> == 2);
