// SPDX-License-Identifier: BSD-3-Clause
// E1084: states are named of a layer that does not give them.
// expect-error: layer 'lstm' gives 1 output, but 3 are named; with `return_state` it gives its states, too
// expect-error: [E1084]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
#ifdef STAGECRAFT_BAD
    auto [y, h, c] = lstm(8)(model.input(9, 4));
#else
    auto [y, h, c] = lstm(8, {.return_state = true})(model.input(9, 4));
#endif
    return dense(2)(concatenate()(h, c));
  }
};
static_assert(sc::call_count<net> == 6);  // <- here
