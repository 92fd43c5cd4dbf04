// SPDX-License-Identifier: BSD-3-Clause
// E1198: a pattern that no layer's name matches.
// expect-error: frozen<> is given the pattern 'conv[1-4]_', but no layer of model 'sequential' has a name that begins so
// expect-error: its last layer is 'dense' [E1198]
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8, 8, 1}, conv2d{4, 3}, flatten{}, dense{10}>;
#ifdef STAGECRAFT_BAD
using base = sc::frozen<network, "conv[1-4]_">;  // <- here
#else
using base = sc::frozen<network, "conv2d">;
#endif
static_assert(sc::call_count<base> > 0);
