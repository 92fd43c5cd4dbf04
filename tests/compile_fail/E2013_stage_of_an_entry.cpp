// SPDX-License-Identifier: BSD-3-Clause
// E2013: a layer of a sequential model carries a stage of its own.
// expect-error: entry 2 of a sequential model has a pipeline stage of its own
// expect-error: [E2013]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}.in_pipeline_stage(1)>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;
#endif

using two_stages = sc::pipelined<mlp, sc::stages<0, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);
