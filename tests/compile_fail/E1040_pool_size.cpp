// SPDX-License-Identifier: BSD-3-Clause
// E1040: a pool size or a stride is below 1.
// expect-error: layer 'max_pooling2d' has a pool size of (2, 0); each number must be at least 1
// expect-error: [E1040]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, max_pooling2d{{2, 0}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, max_pooling2d{{2, 1}}>;
#endif

static_assert(sc::call_count<net> >= 2);
