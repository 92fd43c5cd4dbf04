// SPDX-License-Identifier: BSD-3-Clause
// E1088: a stateful layer is given first states.
// expect-error: layer 'decoder' is stateful, and is called with first states; it begins with those after the batch
// expect-error: before
// expect-error: [E1088]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = input{9, 4}.of_batch_size(16)(model);
    auto [y, h] = gru(8, {.return_state = true})(x);
#ifdef STAGECRAFT_BAD
    return gru(8, {.stateful = true, .name = "decoder"})(x, h);
#else
    return gru(8, {.name = "decoder"})(x, h);
#endif
  }
};
static_assert(sc::call_count<net> == 4);  // <- here
