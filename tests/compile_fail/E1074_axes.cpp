// SPDX-License-Identifier: BSD-3-Clause
// E1074: dims of permute that do not name each axis of its input once.
// expect-error: layer 'permute' has dims (1, 1), which do not name each axis of an input of shape (5, 3) once
// expect-error: [E1074]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{5, 3}, permute{1, 1}, dense{4}>;  // <- here
#else
using net = sc::sequential<input{5, 3}, permute{2, 1}, dense{4}>;
#endif
static_assert(sc::call_count<net> == 3);
