// SPDX-License-Identifier: BSD-3-Clause
// E1061: softmax works along an axis that its input does not have.
// expect-error: layer 'softmax' works along axis 4, which is not an axis of an input of shape (28, 28, 8)
// expect-error: [E1061]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, softmax_layer{4}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, softmax_layer{3}>;
#endif

static_assert(sc::call_count<net> >= 2);
