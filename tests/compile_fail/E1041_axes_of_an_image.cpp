// SPDX-License-Identifier: BSD-3-Clause
// E1041: an image or a sequence has another number of axes.
// expect-error: layer 'max_pooling2d' expects an input of shape (height, width, channels), but got (28, 28)
// expect-error: [E1041]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28}, max_pooling2d{}>;  // <- here
#else
using net = sc::sequential<input{28, 28}, reshape{28, 28, 1}, max_pooling2d{}>;
#endif

static_assert(sc::call_count<net> >= 2);
