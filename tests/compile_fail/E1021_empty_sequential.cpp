// SPDX-License-Identifier: BSD-3-Clause
// E1021: a sequential model has no entries.
// expect-error: a sequential model without layers
// expect-error: [E1021]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 3);
