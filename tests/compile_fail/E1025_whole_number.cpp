// SPDX-License-Identifier: BSD-3-Clause
// E1025: the units of a layer are written with a point.
// expect-error: layer Dense cannot be made from what its braces hold; write dense{units}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28}, dense{64.0}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<sc::input{28}, sc::dense{64}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 3);
