// SPDX-License-Identifier: BSD-3-Clause
// E1071: the groups of group_normalization do not divide its channels.
// expect-error: layer 'group_normalization' has 3 groups, which do not divide the 16 channels of its input
// expect-error: [E1071]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 8, 16}, group_normalization{3}, dense{4}>;  // <- here
#else
using net = sc::sequential<input{8, 8, 16}, group_normalization{4}, dense{4}>;
#endif
static_assert(sc::call_count<net> == 3);
