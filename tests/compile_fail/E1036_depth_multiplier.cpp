// SPDX-License-Identifier: BSD-3-Clause
// E1036: a depthwise convolution gives no output per channel.
// expect-error: layer 'depthwise_conv2d' has a depth multiplier of 0; it needs at least 1
// expect-error: [E1036]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, depthwise_conv2d{3, {.depth_multiplier = 0}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, depthwise_conv2d{3, {.depth_multiplier = 2}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
