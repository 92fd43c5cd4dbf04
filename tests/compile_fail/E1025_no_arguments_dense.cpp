// SPDX-License-Identifier: BSD-3-Clause
// E1025: a dense layer without its units.
// expect-error: layer Dense cannot be made from what its braces hold; write dense{units}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28}, dense{}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28}, dense{64}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 3);
