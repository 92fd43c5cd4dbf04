// SPDX-License-Identifier: BSD-3-Clause
// E1198: a pattern that cannot be read.
// expect-error: frozen<> is given the pattern 'conv[1-4', which cannot be read at character 4: a '[' has no ']' [E1198]
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8, 8, 1}, conv2d{4, 3}, flatten{}, dense{10}>;
#ifdef STAGECRAFT_BAD
using base = sc::frozen<network, "conv[1-4">;  // <- here
#else
using base = sc::frozen<network, "conv[1-4]?">;
#endif
static_assert(sc::call_count<base> > 0);
