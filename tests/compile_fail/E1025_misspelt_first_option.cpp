// SPDX-License-Identifier: BSD-3-Clause
// E1025: an option that the layer does not have, with no argument before it.
// expect-error: cannot be made from what its braces hold
// expect-error: [E1025]
// most-error-lines: 2 (GCC: designator)
// most-error-lines: 4 (Clang: an alias that names the refused layer is no type)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr batch_normalization slow{{.momentun = 0.999F}};  // <- here
#else
constexpr batch_normalization slow{{.momentum = 0.999F}};
#endif

using net = sc::sequential<input{8}, dense{8}, slow>;
static_assert(sc::call_count<net> == 3);
