// SPDX-License-Identifier: BSD-3-Clause
// E1002: a layer needs an axis that its input does not have.
//
// A dense layer multiplies along the last axis of its input, so the input needs at least one axis besides the
// batch. Give the input a shape, such as `input{1}` for one number per sample.
//
// expect-error: layer 'dense' expects an input of at least one axis, but got ()
// expect-error: [E1002]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{sc::shape{}}, dense{10}>;
#else
using mlp = sc::sequential<input{1}, dense{10}>;
#endif

static_assert(sc::output_shape_of<mlp, 1> == sc::shape(10));
