// SPDX-License-Identifier: BSD-3-Clause
// E1032: the groups of a convolution do not divide its channels and filters.
// expect-error: layer 'conv2d' has 2 groups, which must divide the 3 channels of its input and its 32 filters
// expect-error: [E1032]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.groups = 2}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d{33, 3, {.groups = 3}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
