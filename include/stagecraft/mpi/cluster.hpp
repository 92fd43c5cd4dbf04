// SPDX-License-Identifier: BSD-3-Clause
// Several processes as one machine: MPI's ranks, on one host or on many. Counterparts: Graphcore's PopDist, and
// IPUMultiWorkerStrategy of Keras on IPU.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/machines/ipu_devices.hpp>

namespace stagecraft {

/// The order in which the stages' devices of all replicas are divided among ranks that have some of a replica's stages.
enum class stage_placement {
  by_replica,  ///< the devices of a replica, then those of the next one: stages send to ranks beside them
  by_stage     ///< a device of all replicas, then the next device: gradients of a stage are summed within few ranks
};

/// The ranks that have all of a model whose stages are on several.
enum class whole_model { on_all_ranks, on_first_rank };

/// The processes of a cluster.
struct ranks {
  int count = 1;           ///< the highest number of processes, 1 to 4096; a program runs on any divisor of it
  double timeout_s = 300;  ///< seconds after which a process that does not come is an error (E4168); more than 0
  /// The speed of a rank that is a host, as it was measured: 1e9 floating-point operations of training in a second.
  /// Only a profile reads it.
  double gigaflops = 0;
  /// The place of stages on ranks. By stage, ranks have some of the stages of a replica whatever their number.
  stage_placement placement = stage_placement::by_replica;
  /// Who gets all weights and the optimizer's state when `fit` ends. Where the first rank alone does, others never have
  /// memory of stages that they do not carry out, and their `get_weights` is an error (E4180).
  whole_model at_end = whole_model::on_all_ranks;
};

/// The network between the hosts of a cluster. Only a profile reads it; a program that runs finds its own.
struct network {
  double gigabits = 0;           ///< 1e9 bits that a host sends in a second while it receives as many; 0: not described
  double latency_us = 0;         ///< microseconds from the begin of a short message to its end
  int ranks_of_host = 1;         ///< consecutive ranks that share a host and its link; a divisor of the number of ranks
  double memory_gigabytes = 10;  ///< 1e9 bytes that a rank sends to another one of its host in a second
};

}  // namespace stagecraft

namespace stagecraft::mpi {

/// The number of a replica's device in the order of a placement.
[[nodiscard]] constexpr int unit_of(stage_placement by, int replica, int replicas, int device, int devices) {
  return by == stage_placement::by_stage ? device * replicas + replica : replica * devices + device;
}

template <class Machine>
inline constexpr bool is_host = false;
template <int Threads, class Arch, int Devices>
inline constexpr bool is_host<host_machine<Threads, Arch, Devices>> = true;

/// Reports E2121.
constexpr void check_network(ranks const& processes, network const& of, diagnostic& problem) {
  constexpr double most = 1e9;
  auto const is_within = [](double number, double least) { return number >= least && number <= most; };
  if (!is_within(of.gigabits, 0))
    problem.report(2121, "cluster<> is given network{.gigabits} that is not from 0 to 1e9");
  else if (!is_within(of.latency_us, 0))
    problem.report(2121, "cluster<> is given network{.latency_us} that is not from 0 to 1e9");
  else if (!is_within(of.memory_gigabytes, 1e-9))
    problem.report(2121, "cluster<> is given network{.memory_gigabytes} that is not more than 0 and at most 1e9");
  else if (of.ranks_of_host < 1 || processes.count % of.ranks_of_host != 0)
    problem.report(2121, "cluster<> is given network{.ranks_of_host = ", of.ranks_of_host, "} for ", processes.count,
                   " ranks; it must be a divisor of them");
  else if (!is_within(processes.gigaflops, 0))
    problem.report(2121, "cluster<> is given ranks{.gigaflops} that is not from 0 to 1e9");
}

/// Reports E2100, E2121.
template <class Machine, ranks Ranks, network Network>
inline constexpr diagnostic cluster_problem = [] {
  diagnostic problem;
  if (!is_host<Machine> && !machines::is_ipu<Machine>)
    problem.report(
        2100,
        "cluster<> is given a machine that is neither a host nor IPUs: each rank is a sc::host<threads> or a "
        "sc::ipu<>");
  else if (Ranks.count < 1 || Ranks.count > 4096)
    problem.report(2100, "cluster<> is given ranks{", Ranks.count, "}; it takes 1 to 4096");
  else if (!(Ranks.timeout_s > 0))
    problem.report(2100, "cluster<> is given a .timeout_s that is not more than 0 seconds");
  else
    check_network(Ranks, Network, problem);
  return problem;
}();

/// The type behind `cluster<...>`. One rank is a machine of its own type; the cluster has the devices of all.
template <class Machine, ranks Ranks, network Network>
struct cluster_machine : Machine {
  using machine_of_rank = Machine;
  static constexpr ranks processes = Ranks;
  static constexpr int devices = Machine::devices * Ranks.count;
  static constexpr network between = Network;
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
/// `Network` describes what is between hosts, for `sc::profile` of the cluster (<stagecraft/mpi/cluster_profile.hpp>).
/// Ranks that are emulated IPUs (<stagecraft/ipu.hpp>) have the IPUs of their own replicas or stages each: a cluster of
/// `sc::ranks{4}` and `sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>` has eight.
///
/// Errors: E2100, E2121; E2101, E2102 where a trainer or a profile is named.
template <class Machine, ranks Ranks, network Network = network{},
          class Verdict = typename detail::early_verdict<mpi::cluster_problem<Machine, Ranks, Network>>::checked>
using cluster = typename Verdict::template model<mpi::cluster_machine<Machine, Ranks, Network>>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
