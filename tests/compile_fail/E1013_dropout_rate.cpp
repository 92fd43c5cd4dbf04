// SPDX-License-Identifier: BSD-3-Clause
// E1013: the rate of a dropout layer is not in [0, 1).
// expect-error: layer 'dropout' has a rate of 2000 percent; it must be at least 0 and below 1
// expect-error: [E1013]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{128, sc::relu}, dropout{20.0}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{784}, dense{128, sc::relu}, dropout{0.2}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 4);
