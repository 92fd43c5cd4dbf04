// SPDX-License-Identifier: BSD-3-Clause
// E1031: a kernel size, stride or dilation rate is below 1.
// expect-error: layer 'conv2d' has strides of (0, 0); each number must be at least 1
// expect-error: [E1031]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.strides = 0}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.strides = 1}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
