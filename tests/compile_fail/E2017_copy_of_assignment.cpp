// SPDX-License-Identifier: BSD-3-Clause
// E2017: the function that assigns the stages gets a copy of the assignment.
// expect-error: the function that assigns the stages does not take the assignment by reference
// expect-error: [E2017]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<mlp, [](auto assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "dense_2" ? 1 : 0;
}>;
#else
using two_stages = sc::pipelined<mlp, [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "dense_2" ? 1 : 0;
}>;
#endif

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, 4> == 1);
