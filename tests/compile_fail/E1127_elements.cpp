// SPDX-License-Identifier: BSD-3-Clause
// E1127: a weight of more elements than an int counts.
// expect-error: layer 'dense' makes a tensor or a weight of shape (1048576, 2097152), which has more than
// expect-error: 1073741823 elements [E1127]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{1048576}, dense{2097152}>;  // <- here
#else
using net = sc::sequential<input{1048576}, dense{256}>;
#endif
static_assert(sc::call_count<net> == 2);
