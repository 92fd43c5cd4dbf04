// SPDX-License-Identifier: BSD-3-Clause
// E1045: cropping leaves nothing.
// expect-error: layer 'cropping2d' has a cropping of ((14, 14), (0, 0)), which leaves nothing
// expect-error: [E1045]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, cropping2d{{14, 0}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, cropping2d{{13, 0}}>;
#endif

static_assert(sc::call_count<net> >= 2);
