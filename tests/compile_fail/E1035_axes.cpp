// SPDX-License-Identifier: BSD-3-Clause
// E1035: a convolution's input has another number of axes.
// expect-error: layer 'conv2d' expects an input of at least 3 axes, (height, width, channels), but got (28, 28)
// expect-error: [E1035]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28}, conv2d{32, 3}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28}, reshape{28, 28, 1}, conv2d{32, 3}>;
#endif

static_assert(sc::count_parameters<cnn>() > 0);
