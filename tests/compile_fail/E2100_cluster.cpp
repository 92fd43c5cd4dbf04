// SPDX-License-Identifier: BSD-3-Clause
// E2100: a cluster of no ranks.
// expect-error: cluster<> is given ranks{0}; it takes 1 to 4096
// expect-error: [E2100]
#include <stagecraft/mpi/cluster.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
using machine = sc::cluster<sc::host<2>, sc::ranks{0}>;  // <- here
#else
using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;
static_assert(machine::processes.count == 4);
#endif
