// SPDX-License-Identifier: BSD-3-Clause
// E2003: some layers have a pipeline stage and some have none.
// expect-error: layer 'activation' (node index 0) has no pipeline stage; all layers of a pipelined model need one
// expect-error: [E2003]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(784);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(64)(x);
    }
    x = activation(sc::relu)(x);
    {
      sc::pipeline_stage stage(model, 1);
      x = dense(10)(x);
    }
    return x;
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(784);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(64)(x);
      x = activation(sc::relu)(x);
    }
    {
      sc::pipeline_stage stage(model, 1);
      x = dense(10)(x);
    }
    return x;
  }
};
#endif

static_assert(sc::pipeline_stages<net> == 2);
static_assert(sc::stage_of<net, 1> == 0);
