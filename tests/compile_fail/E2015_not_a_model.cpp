// SPDX-License-Identifier: BSD-3-Clause
// E2015: pipelined is given a type that is not a model.
// expect-error: pipelined<...> is given the type 'classifier', which is not a model
// expect-error: [E2015]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct classifier {
  dense hidden{32}, decide{10};
  constexpr auto call(auto&, auto x) { return decide(hidden(x)); }
};

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<classifier, sc::stages<0, 1>>;  // <- here
#else
using two_stages = sc::pipelined<sc::build<classifier, input{784}>, sc::stages<0, 1>>;
#endif

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::call_count<two_stages> == 3);
