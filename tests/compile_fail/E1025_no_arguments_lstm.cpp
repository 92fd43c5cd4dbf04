// SPDX-License-Identifier: BSD-3-Clause
// E1025: a recurrent layer without its units.
// expect-error: layer LSTM cannot be made from what its braces hold; write lstm{units}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using reader = sc::sequential<input{12, 8}, lstm{}, dense{10}>;  // <- here
#else
using reader = sc::sequential<input{12, 8}, lstm{64}, dense{10}>;
#endif

static_assert(sc::call_count<reader> == 3);
