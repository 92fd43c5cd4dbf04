// SPDX-License-Identifier: BSD-3-Clause
// E1020: a functional model has no function that builds it.
// expect-error: functional model 'net' has no function that builds it
// expect-error: [E1020]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  constexpr auto call(auto&, auto x) { return dense(10)(x); }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    return dense(10)(model.input(784));
  }
};
#endif

static_assert(sc::call_count<net> == 2);
static_assert(sc::pipeline_stages<net> == 0);
