// SPDX-License-Identifier: BSD-3-Clause
// E1046: the factor of up-sampling is below 1.
// expect-error: layer 'up_sampling2d' has a size of (2, 0); each number must be at least 1
// expect-error: [E1046]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, up_sampling2d{{2, 0}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, up_sampling2d{{2, 1}}>;
#endif

static_assert(sc::call_count<net> >= 2);
