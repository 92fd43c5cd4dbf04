// SPDX-License-Identifier: BSD-3-Clause
// E1025: a layer is made from what it does not take.
// expect-error: layer Dense cannot be made from what its braces hold; write dense{units}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, "relu"}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 4);
