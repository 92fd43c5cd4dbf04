// SPDX-License-Identifier: BSD-3-Clause
// E1038: the output padding of a transposed convolution does not suit its strides.
// expect-error: layer 'conv2d_transpose' has an output padding of (2, 2), which must be at least 0 and less than its
// expect-error: strides of (2, 2)
// expect-error: [E1038]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d_transpose{32, 3, {.strides = 2, .output_padding = 2}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d_transpose{32, 3, {.strides = 2, .output_padding = 1}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
