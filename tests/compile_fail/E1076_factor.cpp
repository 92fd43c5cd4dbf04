// SPDX-License-Identifier: BSD-3-Clause
// E1076: a lower bound above the upper one.
// expect-error: layer 'random_zoom' has a factor that is out of its range
// expect-error: [E1076]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 8, 3}, random_zoom{{0.5, -0.5}}, flatten{}, dense{4}>;  // <- here
#else
using net = sc::sequential<input{8, 8, 3}, random_zoom{{-0.5, 0.5}}, flatten{}, dense{4}>;
#endif
static_assert(sc::call_count<net> == 4);
