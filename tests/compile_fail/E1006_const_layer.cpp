// SPDX-License-Identifier: BSD-3-Clause
// E1006: a layer that is const is called.
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
