// SPDX-License-Identifier: BSD-3-Clause
// E1037: causal padding along two axes.
// expect-error: layer 'conv2d' has causal padding; only layers that convolve along one axis have that
// expect-error: [E1037]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.padding = sc::padding::causal}}>;  // <- here
#else
using cnn = sc::sequential<input{28, 28, 3}, conv2d{32, 3, {.padding = sc::padding::same}}>;
#endif

static_assert(sc::call_count<cnn> == 2);
