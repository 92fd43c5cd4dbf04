// SPDX-License-Identifier: BSD-3-Clause
// E1024: a query names a call that the model does not have.
// expect-error: model 'sequential' has no call 3; its calls are numbered from 0 to 2, inputs included
// expect-error: [E1024]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;

#ifdef STAGECRAFT_BAD
using last = sc::layer_t<mlp, 3>;  // <- here
#else
using last = sc::layer_t<mlp, 2>;
#endif

static_assert(sizeof(last) > 0);
