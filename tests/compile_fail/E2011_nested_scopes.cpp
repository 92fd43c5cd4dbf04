// SPDX-License-Identifier: BSD-3-Clause
// E2011: a scope of a pipeline stage is opened inside another one.
// expect-error: the scope of pipeline stage 1 is opened inside the scope of stage 0; scopes are never nested
// expect-error: [E2011] (E2011_nested_scopes.cpp:17)
// user-line: 34 (Clang: the stages ask for the model's graph)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(784);
    sc::pipeline_stage first(model, 0);
    x = dense(64)(x);
    sc::pipeline_stage second(model, 1);
    return dense(10)(x);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(784);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(64)(x);
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
