// SPDX-License-Identifier: BSD-3-Clause
// E2051: a pattern of manual_pipeline matches no layer.
// expect-error: the pattern 'fc' of pipeline stage 1 matches no layer of model 'sequential'
// expect-error: [E2051]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using staged = sc::manual_pipeline<mlp, ".*", "fc">;  // <- here
#else
using staged = sc::manual_pipeline<mlp, ".*", "dense_1">;
#endif

static_assert(sc::pipeline_stages<staged> == 2);
static_assert(sc::stage_of<staged, 3> == 1);
