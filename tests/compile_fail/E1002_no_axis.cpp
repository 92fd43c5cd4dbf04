// SPDX-License-Identifier: BSD-3-Clause
// E1002: a layer needs an axis that its input does not have.
// expect-error: layer 'dense' expects an input of at least one axis, but got ()
// expect-error: [E1002]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{sc::shape{}}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{1}, dense{10}>;
#endif

static_assert(sc::output_shape_of<mlp, 1> == sc::shape(10));
