// SPDX-License-Identifier: BSD-3-Clause
// Where the replicas of a model are on a cluster, and what cannot be there. A rank carries out a plan as its machine
// does.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/mpi/cluster.hpp>

namespace stagecraft::mpi {

/// True if the ranks of a cluster cannot have equal numbers of whole replicas, or are not to, and so have some of their
/// stages.
template <class Job>
inline constexpr bool splits_stages =
    is_pipelined<typename Job::model> && (Job::replicas % Job::machine::processes.count != 0 ||
                                          Job::machine::processes.placement == stage_placement::by_stage);

/// Reports E2122, E2123.
template <class Job>
constexpr void check_split_stages(diagnostic& problem) {
  constexpr int most = Job::machine::processes.count, devices = planning_timetable<typename Job::planned>.devices();
  if (most > Job::replicas * devices)
    problem.report(2123, "a model on ", devices, " devices, with .num_replicas = ", Job::replicas, ", is ",
                   Job::trains ? "trained" : "run", " on a cluster of ", most,
                   " ranks, of which some would have no stage; name at most as many ranks as its replicas have ",
                   "devices");
  else if (Job::graph.is_stateful())
    problem.report(2122, "the stages of a model with stateful layers are trained on several ranks; these do not ",
                   "exchange the states that layers keep between batches");
}

/// Reports E2101, E2102, E2122, E2123 where a trainer or a profile is named.
template <class Job>
inline constexpr diagnostic placement_problem = [] {
  diagnostic problem;
  constexpr int most = Job::machine::processes.count;
  constexpr auto const& options = Job::options;
  if constexpr (splits_stages<Job>) check_split_stages<Job>(problem);
  if (Job::replicas % most != 0 && !splits_stages<Job>)
    problem.report(2101, "a model of ", Job::replicas, " replicas is ", Job::trains ? "trained" : "run",
                   " on a cluster of ", most,
                   " ranks, which cannot have equal numbers of them; num_replicas is a multiple of the ranks");
  else if (options.replicated_weight_sharding)
    problem.report(2102, "a cluster is given .replicated_weight_sharding; its replicas have their weights as a whole");
  else if (options.replicated_optimizer_state_sharding && splits_stages<Job>)
    problem.report(2102, "a cluster whose ranks have some of the stages of a replica is given ",
                   ".replicated_optimizer_state_sharding; a rank has the whole state of its own stages");
  if constexpr (Job::trains) {
    if (Job::training.asynchronous_callbacks)
      problem.report(2102, "a cluster is given .asynchronous_callbacks; its callbacks are called between executions");
  }
  return problem;
}();

/// The policy of a rank, with the placement's errors.
template <class Policy>
struct cluster_policy : Policy {
  static constexpr bool ranks_of_cluster = true;  ///< several processes carry out the plan

  template <class Job>
  static constexpr diagnostic const& memory_problem() {
    if constexpr (placement_problem<Job>.failed())
      return placement_problem<Job>;
    else
      return Policy::template memory_problem<Job>();
  }
};

/// No policy where that of the ranks' machine is not included (E4092).
template <class Policy>
struct policy_of_rank {
  using type = cluster_policy<Policy>;
};
template <>
struct policy_of_rank<void> {
  using type = void;
};

}  // namespace stagecraft::mpi

namespace stagecraft::engine {

template <class Machine, ranks Ranks, network Network>
struct policy_of_machine<mpi::cluster_machine<Machine, Ranks, Network>> {
  using type = typename mpi::policy_of_rank<policy_of<Machine>>::type;
};

}  // namespace stagecraft::engine
