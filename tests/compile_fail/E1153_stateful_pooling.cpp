// SPDX-License-Identifier: BSD-3-Clause
// E1153: a stateful pooling whose strides are its pool size.
// expect-error: layer 'max_pooling1d' is stateful; its strides are 1 and its padding is valid, so write .strides = 1
// expect-error: [E1153]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 3}.of_batch_size(1), max_pooling1d{4, {.stateful = true}}>;  // <- here
#else
using net = sc::sequential<input{8, 3}.of_batch_size(1), max_pooling1d{4, {.strides = 1, .stateful = true}}>;
#endif

static_assert(sc::call_count<net> == 2);
