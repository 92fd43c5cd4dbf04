// SPDX-License-Identifier: BSD-3-Clause
// E1042: the window of a pooling layer does not fit into its input.
// expect-error: layer 'average_pooling2d' has a pool size of (7, 7), which does not fit into an input
// expect-error: [E1042]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{6, 6, 8}, average_pooling2d{7}>;  // <- here
#else
using net = sc::sequential<input{6, 6, 8}, average_pooling2d{6}>;
#endif

static_assert(sc::call_count<net> >= 2);
