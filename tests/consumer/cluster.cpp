// SPDX-License-Identifier: BSD-3-Clause
// A program on MPI: what its cluster is, and this process in it.
#include <stagecraft/mpi.hpp>

namespace sc = stagecraft;

using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;
static_assert(machine::threads == 2 && machine::processes.count == 4);

int main() { return sc::mpi::rank_group::get().leads() ? 0 : 1; }
