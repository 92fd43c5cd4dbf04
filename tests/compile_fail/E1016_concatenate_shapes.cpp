// SPDX-License-Identifier: BSD-3-Clause
// E1016: the inputs of concatenate differ in another axis.
// expect-error: layer 'concatenate' joins along axis -1
// expect-error: input 0 has (8, 8) and input 1 has (4, 8)
// expect-error: [E1016] (E1016_concatenate_shapes.cpp:16)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8, 8);
    auto y = model.input(4, 8);
    return concatenate{}(x, y);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8, 8);
    auto y = model.input(4, 8);
    return concatenate{1}(x, y);
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
