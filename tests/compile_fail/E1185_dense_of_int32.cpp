// SPDX-License-Identifier: BSD-3-Clause
// E1185: a dense layer that is called with an input of int32.
// expect-error: layer 'dense' computes with floats, but is given a tensor of the type int32
// expect-error: [E1185]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4}.of_type(sc::dtype::int32), dense{2}>;  // <- here
#else
using net = sc::sequential<input{4}.of_type(sc::dtype::int32), rescaling{1}, dense{2}>;
#endif
static_assert(sc::call_count<net> >= 2);
