// SPDX-License-Identifier: BSD-3-Clause
// E1081: an activation of one's own with a member that is neither a float nor an int.
// expect-error: activation 'steep' has members that are not at most 8 floats and ints; write an int in place of a bool
// expect-error: [E1081]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct steep : sc::own_activation<steep> {
  float slope = 2;
#ifdef STAGECRAFT_BAD
  bool mirrored = false;
#else
  int mirrored = 0;
#endif
  constexpr auto call(auto x) const { return x * (mirrored != 0 ? -slope : slope); }
};

using model = sc::sequential<input{3}, dense{2, steep{}}>;  // <- here
static_assert(sc::call_count<model> > 0);
