// SPDX-License-Identifier: BSD-3-Clause
// E2093: gradients as arrays on emulated IPUs.
// expect-error: with_gradients<> is given a machine that is no host
// expect-error: gradients as arrays are found on a sc::host<threads>
// expect-error: [E2093]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
using machine = sc::with_gradients<sc::ipu<>>;  // <- here
#else
using machine = sc::with_gradients<sc::host<2>>;
#endif
static_assert(machine::threads > 0);
