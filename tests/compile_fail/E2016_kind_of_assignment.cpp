// SPDX-License-Identifier: BSD-3-Clause
// E2016: the stages are given as something else than a stage assignment.
// expect-error: the stages are given as a value of type 'int'; give stages<0, 0, 1>
// expect-error: [E2016]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<mlp, 2>;  // <- here
#else
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
#endif

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, 4> == 1);
static_assert(sc::calls_of_stage<two_stages, 1>.size() == 2);
