// SPDX-License-Identifier: BSD-3-Clause
// E1019: an entry of a sequential model is neither a layer nor a model.
// expect-error: entry 2 of a sequential model is a value of type 'activation', which is neither a layer nor a model; the
// expect-error: layer is activation{...}, with the function in its braces
// expect-error: [E1019]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, sc::relu, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, activation{sc::relu}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 4);
using two = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
static_assert(sc::pipeline_stages<two> == 2);
