// SPDX-License-Identifier: BSD-3-Clause
// E2005: a stage has no layers.
// expect-error: no layer is assigned to pipeline stages 1 and 3, but the highest stage is 4; stages leave none out
// expect-error: [E2005]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    auto a = dense(16)(x);
    auto b = dense(16)(a);
    return add{}(a, b);
  }
};

#ifdef STAGECRAFT_BAD
using staged = sc::pipelined<net, sc::stages<0, 2, 4>>;  // <- here
#else
using staged = sc::pipelined<net, sc::stages<0, 1, 1>>;
#endif

static_assert(sc::pipeline_stages<staged> == 2);
