// SPDX-License-Identifier: BSD-3-Clause
// E1053: the epsilon of a normalization is negative.
// expect-error: layer 'layer_normalization' has an epsilon that is negative or not a number; Keras's default is 0.001
// expect-error: [E1053]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{64}, layer_normalization{{.epsilon = -1e-6}}>;  // <- here
#else
using mlp = sc::sequential<input{784}, dense{64}, layer_normalization{{.epsilon = 1e-6}}>;
#endif

static_assert(sc::call_count<mlp> == 3);
