// SPDX-License-Identifier: BSD-3-Clause
// E2050: no pattern of manual_pipeline matches a layer.
// expect-error: layer 'dense' is matched by no pattern of manual_pipeline; each layer needs a stage
// expect-error: [E2050]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using staged = sc::manual_pipeline<mlp, "flatten", "dense_[0-9]">;  // <- here
#else
using staged = sc::manual_pipeline<mlp, "flatten|dense$", "dense_[0-9]">;
#endif

static_assert(sc::pipeline_stages<staged> == 2);
static_assert(sc::stage_of<staged, 3> == 1);
