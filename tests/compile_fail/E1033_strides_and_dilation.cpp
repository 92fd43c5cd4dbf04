// SPDX-License-Identifier: BSD-3-Clause
// E1033: a convolution has strides and a dilation rate.
// expect-error: layer 'conv2d' has strides of (2, 2) and a dilation rate of (2, 2); one of them must be 1
// expect-error: [E1033]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.strides = 2, .dilation_rate = 2}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.dilation_rate = 2}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
