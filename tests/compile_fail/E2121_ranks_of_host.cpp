// SPDX-License-Identifier: BSD-3-Clause
// E2121: ranks that cannot be divided among hosts.
// expect-error: cluster<> is given network{.ranks_of_host = 3} for 4 ranks; it must be a divisor of them
// expect-error: [E2121]
#include <stagecraft/mpi/cluster.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
using rack = sc::cluster<sc::host<2>, sc::ranks{4}, sc::network{.gigabits = 25, .ranks_of_host = 3}>;  // <- here
#else
using rack = sc::cluster<sc::host<2>, sc::ranks{4}, sc::network{.gigabits = 25, .ranks_of_host = 2}>;
static_assert(rack::between.ranks_of_host == 2);
#endif
