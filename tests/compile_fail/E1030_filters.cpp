// SPDX-License-Identifier: BSD-3-Clause
// E1030: a convolution has no filters.
// expect-error: layer 'conv2d_1' has 0 filters; it needs at least 1
// expect-error: [E1030]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3}, conv2d{0, 3}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3}, conv2d{10, 3}>;
#endif

static_assert(sc::layer_of<cnn, 1>.filters == 32);
