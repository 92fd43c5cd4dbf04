// SPDX-License-Identifier: BSD-3-Clause
// E1101: a layer inside time_distributed adds to the loss.
// expect-error: layer 'time_distributed' distributes a layer that adds to the loss; add a layer behind it
// expect-error: [E1101]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr dense penalized{3, {.activity_regularizer = sc::regularizers::l2{0.1F}}};
using net = sc::sequential<input{5, 4}, time_distributed{penalized}, flatten{}, dense{2}>;  // <- here
#else
using net =
    sc::sequential<input{5, 4}, time_distributed{dense{3}}, activity_regularization{{.l2 = 0.1F}}, flatten{}, dense{2}>;
#endif

static_assert(sc::call_count<net> > 2);
