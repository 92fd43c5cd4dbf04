// SPDX-License-Identifier: BSD-3-Clause
// E1154: attention that keeps steps, but is not causal.
// expect-error: layer 'multi_head_attention' keeps steps; it has use_causal_mask and one input of shape
// expect-error: (steps, features), without a mask
// expect-error: [E1154]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{1, 8}.of_batch_size(1), multi_head_attention{2, 4, {.kept_steps = 15}}>;  // <- here
#else
using net = sc::sequential<input{1, 8}.of_batch_size(1),
                           multi_head_attention{2, 4, {.use_causal_mask = true, .kept_steps = 15}}>;
#endif

static_assert(sc::call_count<net> == 2);
