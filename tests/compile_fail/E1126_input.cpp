// SPDX-License-Identifier: BSD-3-Clause
// E1126: an input of more dimensions than a tensor may have.
// expect-error: the dimensions of a shape are at most 6, but 11 are given
// expect-error: [E1126]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, dense{3}>;  // <- here
#else
using net = sc::sequential<input{4, 1, 1, 1, 1, 2}, dense{3}>;
#endif
static_assert(sc::call_count<net> == 2);
