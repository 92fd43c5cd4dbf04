// SPDX-License-Identifier: BSD-3-Clause
// E1073: a layer that cannot leave out steps is given a masked sequence.
// expect-error: a layer GlobalAveragePooling1D is given a sequence some of whose steps are masked, and cannot leave them out
// expect-error: [E1073]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{9}, embedding{50, 8, {.mask_zero = true}}, global_average_pooling1d{}>;  // <- here
#else
using net = sc::sequential<input{9}, embedding{50, 8}, global_average_pooling1d{}>;
#endif
static_assert(sc::call_count<net> == 3);
