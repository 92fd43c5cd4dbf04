// SPDX-License-Identifier: BSD-3-Clause
// E1050: a normalization along an axis that its input does not have.
// expect-error: layer 'batch_normalization' normalises along axis 3, which is not an axis of an input of shape (28, 64)
// expect-error: axis 0 is the batch, the last is 2
// expect-error: [E1050]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, dense{64}, batch_normalization{3}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, dense{64}, batch_normalization{2}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 4);
