// SPDX-License-Identifier: BSD-3-Clause
// E1085: a recurrent layer is given one of its two first states.
// expect-error: layer 'decoder' has 2 states, but is called with 1 behind its input; give it all first states or none
// expect-error: [E1085]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto [y, h, c] = lstm(8, {.return_state = true})(model.input(9, 4));
    lstm decoder(8, {.name = "decoder"});
#ifdef STAGECRAFT_BAD
    return decoder(model.input(5, 4), h);
#else
    return decoder(model.input(5, 4), h, c);
#endif
  }
};
static_assert(sc::call_count<net> == 6);  // <- here
