// SPDX-License-Identifier: BSD-3-Clause
// E1072: time_distributed is given a model.
// expect-error: time_distributed is given 'sequential_model', which is not a layer
// expect-error: [E1072]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using head = sc::sequential<dense{8}, dense{4}>;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{5, 16}, time_distributed{head{}}>;  // <- here
#else
using net = sc::sequential<input{5, 16}, time_distributed{dense{8}}, time_distributed{dense{4}}>;
#endif
static_assert(sc::call_count<net> >= 2);
