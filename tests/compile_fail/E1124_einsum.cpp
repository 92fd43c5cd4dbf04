// SPDX-License-Identifier: BSD-3-Clause
// E1124: an equation for inputs with another number of axes.
// expect-error: layer 'einsum_dense' has the equation 'abc,cd->abd' for an input of shape (6,)
// expect-error: the input has another number of axes
// expect-error: [E1124]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{6}, einsum_dense{"abc,cd->abd", {4, 8}}>;  // <- here
#else
using net = sc::sequential<input{6}, einsum_dense{"ab,bc->ac", 8}>;
#endif
static_assert(sc::call_count<net> == 2);
