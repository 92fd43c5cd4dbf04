// SPDX-License-Identifier: BSD-3-Clause
// E1126: a shape of more dimensions than a tensor may have, given to a layer that would reject what stands for it.
// expect-error: the dimensions of a shape are at most 6, but 8 are given
// expect-error: [E1126]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4, 2}, reshape{2, 1, 2, 1, 2, 1, 1, 1}, dense{3}>;  // <- here
#else
using net = sc::sequential<input{4, 2}, reshape{2, 1, 2, 1, 2, 1}, dense{3}>;
#endif
static_assert(sc::call_count<net> == 3);
