// SPDX-License-Identifier: BSD-3-Clause
// E1126: an output_shape of more dimensions than a tensor may have.
// expect-error: the dimensions of a shape are at most 6, but 9 are given
// expect-error: [E1126]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4, 2}, einsum_dense{"abc,cd->abd", {4, 3, 1, 1, 1, 1, 1, 1, 1}}>;  // <- here
#else
using net = sc::sequential<input{4, 2}, einsum_dense{"abc,cd->abd", {4, 3}}>;
#endif
static_assert(sc::call_count<net> == 2);
