// SPDX-License-Identifier: BSD-3-Clause
// E1062: prelu shares its slopes along an axis that its input does not have.
// expect-error: layer 'p_re_lu' shares its slopes along axis 0, which is not an axis of an input of shape (28, 28, 8)
// expect-error: [E1062]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, prelu{{.shared_axes = {0, 1}}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, prelu{{.shared_axes = {1, 2}}}>;
#endif

static_assert(sc::call_count<net> >= 2);
