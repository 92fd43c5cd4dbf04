// SPDX-License-Identifier: BSD-3-Clause
// E1051: layer_normalization names an axis twice.
// expect-error: layer 'layer_normalization' normalises along axis (2, 1, -2), which names axis 2 twice;
// expect-error: the input's shape is (8, 8, 3) behind the batch, which is axis 0
// expect-error: [E1051]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{8, 8, 3}, layer_normalization{{.axis = {2, 1, -2}}}>;  // <- here
#else
using net = sc::sequential<input{8, 8, 3}, layer_normalization{{.axis = {2, 1}}}>;
#endif

static_assert(sc::call_count<net> == 2);
