// SPDX-License-Identifier: BSD-3-Clause
// E1023: a model subclass has no call that takes its inputs.
// expect-error: model 'classifier' has no `call` that takes 2 tensors
// expect-error: [E1023]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct classifier : sc::model<classifier> {
  dense hidden{32}, decide{10};
  constexpr auto call(auto&, auto x) { return decide(hidden(x)); }
};

#ifdef STAGECRAFT_BAD
using network = sc::build<classifier, input{784}, input{784}>;  // <- here
#else
using network = sc::build<classifier, input{784}>;
#endif

static_assert(sc::call_count<network> == 3);
