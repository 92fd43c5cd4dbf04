// SPDX-License-Identifier: BSD-3-Clause
// E1043: a pooling layer has causal padding.
// expect-error: layer 'max_pooling1d' has causal padding; a pooling layer has valid or same
// expect-error: [E1043]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{100, 8}, max_pooling1d{2, {.padding = sc::padding::causal}}>;  // <- here
#else
using net = sc::sequential<input{100, 8}, max_pooling1d{2, {.padding = sc::padding::same}}>;
#endif

static_assert(sc::call_count<net> >= 2);
