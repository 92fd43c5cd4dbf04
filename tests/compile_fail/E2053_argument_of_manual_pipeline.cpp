// SPDX-License-Identifier: BSD-3-Clause
// E2053: an argument of manual_pipeline is not the pattern of a stage.
// expect-error: pipeline stage 1 of manual_pipeline is given as a value of type 'int'
// expect-error: [E2053]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using staged = sc::manual_pipeline<mlp, ".*", 2>;  // <- here
#else
using staged = sc::manual_pipeline<mlp, ".*", "dense_1">;
#endif

static_assert(sc::pipeline_stages<staged> == 2);
static_assert(sc::stage_of<staged, 3> == 1);
