// SPDX-License-Identifier: BSD-3-Clause
// E2055: nothing is called in the scope of a pipeline stage.
// expect-error: nothing is called in the scope of pipeline stage 0, so that it assigns nothing
// expect-error: make them in it with model.layer(dense{8}), to be called later
// expect-error: [E2055] (E2055_empty_scope.cpp:17)
// user-line: 34 (Clang: the stages ask for the model's graph)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    dense encode{8};
    {
      sc::pipeline_stage stage(model, 0);
#ifdef STAGECRAFT_BAD
      encode = dense{16};
#else
      encode = model.layer(dense{16});
#endif
    }
    x = encode(x);
    sc::pipeline_stage stage(model, 1);
    return dense{4}(x);
  }
};

static_assert(sc::pipeline_stages<net> == 2);
