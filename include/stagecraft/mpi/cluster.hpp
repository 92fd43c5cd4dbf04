// SPDX-License-Identifier: BSD-3-Clause
// Several processes as one machine: MPI's ranks, on one host or on many. Counterparts: Graphcore's PopDist, and
// IPUMultiWorkerStrategy of Keras on IPU.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/host/host_policy.hpp>

namespace stagecraft {

/// The processes of a cluster.
struct ranks {
  int count = 1;           ///< the highest number of processes, 1 to 4096; a program runs on any divisor of it
  double timeout_s = 300;  ///< seconds after which a process that does not come is an error (E4168); more than 0
};

}  // namespace stagecraft

namespace stagecraft::mpi {

template <class Machine>
inline constexpr bool is_host = false;
template <int Threads, class Arch, int Devices>
inline constexpr bool is_host<host_machine<Threads, Arch, Devices>> = true;

/// Reports E2100.
template <class Machine, ranks Ranks>
inline constexpr diagnostic cluster_problem = [] {
  diagnostic problem;
  if (!is_host<Machine>)
    problem.report(2100, "cluster<> is given a machine that is no host: each rank of a cluster is a sc::host<threads>");
  else if (Ranks.count < 1 || Ranks.count > 4096)
    problem.report(2100, "cluster<> is given ranks{", Ranks.count, "}; it takes 1 to 4096");
  else if (!(Ranks.timeout_s > 0))
    problem.report(2100, "cluster<> is given a .timeout_s that is not more than 0 seconds");
  return problem;
}();

/// The type behind `cluster<...>`. One rank is a machine of its own type.
template <class Machine, ranks Ranks>
struct cluster_machine : Machine {
  using machine_of_rank = Machine;
  static constexpr ranks processes = Ranks;
};

}  // namespace stagecraft::mpi

namespace stagecraft {

/// `ranks.count` processes, each of which is a machine of its own. The replicas of a model are divided among them: each
/// has the memory, the threads and the batches of its own replicas, and gradients are added over all of them in an
/// order that depends on the number of replicas alone. So losses, metrics and weights have the bits of one process, for
/// any number of ranks:
///
///     using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;   // training.num_replicas is a multiple of 4
///     sc::trainer<mlp, training, machine> model;                // mpirun -n 4 ./program, or -n 2, or ./program
///
/// Errors: E2100; E2101, E2102 where a trainer is named.
template <class Machine, ranks Ranks,
          class Verdict = typename detail::early_verdict<mpi::cluster_problem<Machine, Ranks>>::checked>
using cluster = typename Verdict::template model<mpi::cluster_machine<Machine, Ranks>>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
