// SPDX-License-Identifier: BSD-3-Clause
// E2081: an argument of pipeline_sequential is not the list of a stage's layers.
// expect-error: argument 2 of pipeline_sequential is a value of type 'dense'; give the layers of each stage
// expect-error: [E2081]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::pipeline_sequential<sc::stage{input{28, 28}, flatten{}}, dense{10}>;  // <- here
#else
using mlp = sc::pipeline_sequential<sc::stage{input{28, 28}, flatten{}}, sc::stage{dense{10}}>;
#endif

static_assert(sc::pipeline_stages<mlp> == 2);
