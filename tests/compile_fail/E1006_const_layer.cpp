// SPDX-License-Identifier: BSD-3-Clause
// E1006: a layer that is const is called.
//
// The first call of a layer gives it its weights, and it remembers them for the next call. So a layer variable is
// not const, and the `call` of a model subclass is not a const function.
//
// expect-error: a layer that is const (Dense) cannot be called
// expect-error: [E1006]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    dense const project(8);
    return project(model.input(16));
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    dense project(8);
    return project(model.input(16));
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
