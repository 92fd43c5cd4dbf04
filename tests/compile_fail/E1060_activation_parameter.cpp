// SPDX-License-Identifier: BSD-3-Clause
// E1060: a parameter of an activation layer is out of its range.
// expect-error: layer 're_lu' has a negative_slope that is negative or not a number; it must be at least 0
// expect-error: [E1060]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28}, re_lu{{.negative_slope = -0.1F}}>;  // <- here
#else
using net = sc::sequential<input{28}, re_lu{{.negative_slope = 0.1F}}>;
#endif

static_assert(sc::call_count<net> >= 2);
