// SPDX-License-Identifier: BSD-3-Clause
// E1044: padding or cropping is negative.
// expect-error: layer 'zero_padding2d' has a padding of ((0, 1), (0, -1)); each number must be at least 0
// expect-error: [E1044]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{28, 28, 8}, zero_padding2d{{{0, 1}, {0, -1}}}>;  // <- here
#else
using net = sc::sequential<input{28, 28, 8}, zero_padding2d{{{0, 1}, {0, 0}}}, cropping2d{{{0, 0}, {0, 1}}}>;
#endif

static_assert(sc::call_count<net> >= 2);
