// SPDX-License-Identifier: BSD-3-Clause
// E1126: more axes than a sample may have.
// expect-error: the dimensions of a shape are at most 6, but 10 are given
// expect-error: [E1126]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4, 2, 1, 1, 1, 3}, permute{6, 1, 2, 3, 4, 5, 7, 8, 9, 10}>;  // <- here
#else
using net = sc::sequential<input{4, 2, 1, 1, 1, 3}, permute{6, 1, 2, 3, 4, 5}>;
#endif
static_assert(sc::call_count<net> == 2);
