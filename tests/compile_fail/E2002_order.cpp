// SPDX-License-Identifier: BSD-3-Clause
// E2002: an assignment got from one model is given to another one.
// expect-error: entry 0 of the stage assignment is for layer 'dense_1'
// expect-error: layer 'dense' (node index 0) stands there
// expect-error: [E2002]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{64}, dense{32}, dense{10}>;

#ifdef STAGECRAFT_BAD
constexpr auto assignment = [] {
  auto all = sc::get_pipeline_stage_assignment<mlp>();
  auto const first = all[0];
  all[0] = all[1];
  all[1] = first;
  for (int i = 0; i < 2; ++i) all[i].pipeline_stage = i;
  return all;
}();
#else
constexpr auto assignment = [] {
  auto all = sc::get_pipeline_stage_assignment<mlp>();
  for (int i = 0; i < 2; ++i) all[i].pipeline_stage = i;
  return all;
}();
#endif

using two_stages = sc::pipelined<mlp, assignment>;
static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, 2> == 1);
