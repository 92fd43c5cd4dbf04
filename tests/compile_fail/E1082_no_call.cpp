// SPDX-License-Identifier: BSD-3-Clause
// E1082: an activation of one's own that does not say what it computes.
// expect-error: activation 'steep' does not say what it computes; give it `constexpr auto call(auto x) const`
// expect-error: [E1082]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct steep : sc::own_activation<steep> {
#ifdef STAGECRAFT_BAD
  constexpr auto forward(auto x) const { return x * 2; }
#else
  constexpr auto call(auto x) const { return x * 2; }
#endif
};

using model = sc::sequential<input{3}, dense{2, steep{}}>;  // <- here
static_assert(sc::call_count<model> > 0);
