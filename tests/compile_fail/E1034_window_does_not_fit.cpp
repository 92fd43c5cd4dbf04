// SPDX-License-Identifier: BSD-3-Clause
// E1034: the window of a convolution is larger than its input.
// expect-error: layer 'conv2d_1' has a window of (9, 9), which does not fit into an input of (6, 6, 32)
// expect-error: [E1034]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{8, 8, 3}, conv2d{32, 3}, conv2d{64, 3, {.dilation_rate = 4}}>;  // <- here
#else
using cnn =
    sc::sequential<input{8, 8, 3}, conv2d{32, 3}, conv2d{64, 3, {.padding = sc::padding::same, .dilation_rate = 4}}>;
#endif

static_assert(sc::call_count<cnn> == 3);
