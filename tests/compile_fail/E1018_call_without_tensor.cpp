// SPDX-License-Identifier: BSD-3-Clause
// E1018: a layer or model is called with something that is not a tensor.
// expect-error: a layer (Flatten) is called with nothing
// expect-error: [E1018]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28);
    x = flatten()();
    return dense(10)(x);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28);
    x = flatten()(x);
    return dense(10)(x);
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
