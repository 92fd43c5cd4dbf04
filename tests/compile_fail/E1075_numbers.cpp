// SPDX-License-Identifier: BSD-3-Clause
// E1075: a mean without a variance.
// expect-error: layer 'normalization' has a mean of 1 and a variance of 0 numbers; each must be 1 or 3
// expect-error: [E1075]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{5, 3}, normalization{{.mean = 0.5}}, dense{4}>;  // <- here
#else
using net = sc::sequential<input{5, 3}, normalization{{.mean = 0.5, .variance = 2}}, dense{4}>;
#endif
static_assert(sc::call_count<net> == 3);
