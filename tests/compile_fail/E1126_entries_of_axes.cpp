// SPDX-License-Identifier: BSD-3-Clause
// E1126: more axes than a tensor may have.
// expect-error: the axes of a list are at most 7, but 8 are given
// expect-error: [E1126]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4, 2}, layer_normalization{{.axis = {1, 2, 3, 4, 5, 6, 7, 8}}}>;  // <- here
#else
using net = sc::sequential<input{4, 2}, layer_normalization{{.axis = {1, 2}}}>;
#endif
static_assert(sc::call_count<net> == 2);
