// SPDX-License-Identifier: BSD-3-Clause
// Plan pages of clusters: what the sum of gradients over the ranks takes, for each number of ranks. It needs no MPI.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/report/plan_data_of.hpp>
#include <cstdint>
#include <string>

namespace stagecraft::mpi {

/// The price of a sum over the ranks of a plan, or why there is none.
struct plan_sum {
  std::string problem;     ///< the rule that the network breaks, with its code; empty: none
  double seconds = 0;      ///< seconds of the sum, in which all ranks wait
  std::int64_t bytes = 0;  ///< bytes that the rank which sends most sends
};

}  // namespace stagecraft::mpi

namespace stagecraft::reports {

/// The processes of a cluster: each has the machine of one rank, and the cluster's network is between them. The number
/// of ranks in the cluster's own type is replaced by that of each choice.
template <class Machine, ranks Ranks, network Network>
struct plan_processes<mpi::cluster_machine<Machine, Ranks, Network>> {
  using machine_of_rank = Machine;
  static constexpr bool can_be_many = true;

  /// The sum of the gradients of `Count` ranks, each of which does the job, as `sc::profile` of that cluster has it.
  /// Problems: E2100, E2121, and those of that profile.
  template <class Job, int Count>
  static mpi::plan_sum sum_of() {
    constexpr ranks processes{.count = Count, .timeout_s = Ranks.timeout_s, .gigaflops = Ranks.gigaflops};
    constexpr auto training = [] {
      auto result = Job::training;
      result.num_replicas *= Count;
      return result;
    }();
    using machine = mpi::cluster_machine<typename Job::machine, processes, Network>;
    using job = job_on<typename Job::model, training, machine>;
    constexpr diagnostic const& of_cluster = mpi::cluster_problem<typename Job::machine, processes, Network>;
    constexpr diagnostic const& of_profile = mpi::cluster_profile_problem<job>();
    if constexpr (of_cluster.failed()) {
      return {.problem = std::string(of_cluster.text.view())};
    } else if constexpr (of_profile.failed()) {
      return {.problem = std::string(of_profile.text.view())};
    } else {
      constexpr auto price = mpi::cluster_profile<job>::exchange();
      return {.problem = {}, .seconds = price.seconds, .bytes = price.bytes};
    }
  }
};

}  // namespace stagecraft::reports

#include <stagecraft/diagnostics/end_headers.hpp>
