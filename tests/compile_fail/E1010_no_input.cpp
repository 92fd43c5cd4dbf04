// SPDX-License-Identifier: BSD-3-Clause
// E1010: a sequential model that is used by itself does not begin with an input.
// expect-error: the first entry of this sequential model is not an input, so that its shapes are not known
// expect-error: [E1010]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<flatten{}, dense{10}>;
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;
#endif

using two = sc::pipelined<mlp, sc::stages<0, 1>>;  // <- here
static_assert(sc::pipeline_stages<two> == 2);
static_assert(sc::call_count<mlp> == 3);
