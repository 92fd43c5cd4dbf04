// SPDX-License-Identifier: BSD-3-Clause
// E1011: a model subclass is built without the shapes of its inputs.
// expect-error: the shapes of the inputs of model 'classifier' are not known
// expect-error: [E1011]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct classifier : sc::model<classifier> {
  dense hidden{32}, decide{10};
  constexpr auto call(auto&, auto x) { return decide(hidden(x)); }
};

#ifdef STAGECRAFT_BAD
using network = sc::build<classifier>;  // <- here
#else
using network = sc::build<classifier, input{784}>;
#endif

static_assert(sc::call_count<network> == 3);

// Its assignment can be edited without a second error.
constexpr auto assignment = [] {
  auto result = sc::get_pipeline_stage_assignment<network>();
  result[0].pipeline_stage = 0;
  result[1].pipeline_stage = 1;
  return result;
}();
static_assert(sc::pipeline_stages<sc::pipelined<network, assignment>> == 2);
