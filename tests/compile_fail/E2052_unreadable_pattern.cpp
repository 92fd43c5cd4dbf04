// SPDX-License-Identifier: BSD-3-Clause
// E2052: a pattern of manual_pipeline is no regular expression.
// expect-error: the pattern 'dense_[12' of pipeline stage 1 cannot be read as a regular expression
// expect-error: a '[' has no ']' (character 7)
// expect-error: [E2052]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using staged = sc::manual_pipeline<mlp, ".*", "dense_[12">;  // <- here
#else
using staged = sc::manual_pipeline<mlp, ".*", "dense_[12]">;
#endif

static_assert(sc::pipeline_stages<staged> == 2);
static_assert(sc::stage_of<staged, 4> == 1);
