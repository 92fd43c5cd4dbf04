// SPDX-License-Identifier: BSD-3-Clause
// E1052: the momentum of batch_normalization is not in [0, 1].
// expect-error: layer 'batch_normalization' has a momentum outside of 0 to 1; Keras's default is 0.99
// expect-error: [E1052]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{64}, batch_normalization{{.momentum = 99}}>;  // <- here
#else
using mlp = sc::sequential<input{784}, dense{64}, batch_normalization{{.momentum = 0.99}}>;
#endif

static_assert(sc::call_count<mlp> == 3);
