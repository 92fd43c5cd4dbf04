// SPDX-License-Identifier: BSD-3-Clause
// E2057: an entry of a stage assignment is of no model.
// expect-error: entry 1 of the stage assignment of model 'sequential' is empty
// expect-error: get_pipeline_stage_assignment<model>(), and only pipeline_stage is changed in it
// expect-error: [E2057]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{784}, dense{64}, dense{10}>;

constexpr auto assignment = [] {
  auto result = sc::get_pipeline_stage_assignment<mlp>();
  result[0].pipeline_stage = 0;
#ifdef STAGECRAFT_BAD
  result[1] = {.pipeline_stage = 1};
#else
  result[1].pipeline_stage = 1;
#endif
  return result;
}();

using staged = sc::pipelined<mlp, assignment>;  // <- here
static_assert(sc::pipeline_stages<staged> == 2);
