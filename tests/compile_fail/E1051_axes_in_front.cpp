// SPDX-License-Identifier: BSD-3-Clause
// E1051: layer_normalization along axes that are not the last ones.
// expect-error: layer 'layer_normalization' normalises along axis (1, 2), but it takes the last axes of its input alone
// expect-error: [E1051]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 8, 3}, dense{16}, layer_normalization{{.axis = {1, 2}}}>;  // <- here
#else
using net = sc::sequential<input{8, 8, 3}, dense{16}, layer_normalization{{.axis = {1, 2, 3}}}>;
#endif

static_assert(sc::call_count<net> == 3);
