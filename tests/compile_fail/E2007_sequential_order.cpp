// SPDX-License-Identifier: BSD-3-Clause
// E2007: the stages of a sequential model go back, or leave one out.
// expect-error: layer 'dense_1' is assigned to pipeline stage 0, but layer 'dense' before it to stage 1
// expect-error: [E2007]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<mlp, sc::stages<0, 1, 0, 1>>;  // <- here
#else
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
#endif

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, 4> == 1);
static_assert(sc::calls_of_stage<two_stages, 1>.size() == 2);
