// SPDX-License-Identifier: BSD-3-Clause
// The time, the bytes and the memory of a training on a cluster, as constants of the compiler. It needs no MPI.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/exchange_prices.hpp>
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/mpi/staged_cluster_profile.hpp>
#include <stagecraft/plan/device_memory.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace stagecraft::mpi {

/// The job of one rank: its own replicas on its own machine.
template <class Job>
struct rank_share {
  static constexpr int replicas = Job::replicas / Job::machine::processes.count;
  static constexpr auto training = [] {
    auto result = Job::training;
    result.num_replicas = replicas;
    return result;
  }();
  using machine = typename Job::machine::machine_of_rank;
  using job = jobs::job_of<typename Job::model, settings_of<training>, Job::mode, machine>;
};

/// Reports E2120.
template <class Job>
inline constexpr diagnostic price_problem = [] {
  using Machine = typename Job::machine;
  diagnostic problem;
  if (Machine::between.gigabits == 0)
    problem.report(2120,
                   "a profile is asked for a cluster whose network is not described; name it, such as "
                   "sc::network{.gigabits = 100, .latency_us = 2}");
  else if (is_host<typename Machine::machine_of_rank> && Machine::processes.gigaflops == 0)
    problem.report(2120,
                   "a profile is asked for a cluster of hosts whose speed is not described; name what was "
                   "measured, such as sc::ranks{.count = 4, .gigaflops = 200}");
  return problem;
}();

/// The first rule that prevents a profile of a cluster.
template <class Job>
constexpr diagnostic const& cluster_profile_problem() {
  using model = typename Job::model;
  if constexpr (is_invalid<model>)
    return frozen_graph<typename traced_model<model>::type>.problem;
  else if constexpr (has_invalid_stages<model>)
    return stage_problem<model>;
  else if constexpr (training_problem<typename Job::described>.failed())
    return training_problem<typename Job::described>;
  else if constexpr (splits_stages<Job> && price_problem<Job>.failed())
    return price_problem<Job>;
  else if constexpr (placement_problem<Job>.failed())
    return placement_problem<Job>;
  else
    return price_problem<Job>;
}

/// The profile of a training on a cluster. All of it are constants, also of 4096 ranks; nothing runs, and MPI is not
/// needed.
///
/// A step is one weight update. Its work is that of one rank: on IPUs as their profile says, on hosts the operations of
/// forward and backward passes at `ranks.gigaflops`, where a backward pass has twice the operations of a forward one.
/// The gradients of all ranks are then summed, as a gradient_exchange says: by default, as programs on a cluster do it,
/// after the last backward pass. Its time is that of the rank that sends most: a latency for each round, and all bytes
/// at the bandwidth of the host's link. What is not priced: other traffic, waiting for slower ranks, what ranks agree
/// on between executions, and samples.
///
/// Errors: those of the model and its training, E2101, E2102, E2120, E2122; on IPUs those of their profile.
template <class Job>
class cluster_profile {
  using share = rank_share<Job>;
  using machine_of_rank = typename share::machine;
  using rank_job = typename share::job;
  static constexpr network between = Job::machine::between;

  static constexpr std::int64_t floats_of_gradients() {
    if constexpr (is_host<machine_of_rank>) {
      return engine::weight_storage_of<typename Job::model, typename machine_of_rank::architecture>.floats;
    } else {
      std::int64_t floats = 0;
      for (auto const& weight : Job::graph.parameters) floats += weight.trainable ? weight.size() : 0;
      return floats;
    }
  }
  static constexpr int micro_batches() { return Job::options.accumulation_steps(); }
  /// Seconds of a host that computes the forward pass of one micro-batch `times` times.
  static constexpr double host_seconds(double times) {
    return times * static_cast<double>(forward_flops()) / (Job::machine::processes.gigaflops * 1e9);
  }
  static constexpr std::int64_t forward_flops() {
    std::int64_t sum = 0;
    for (auto const& call : Job::graph.calls) sum += call.flops;
    return sum * Job::training.batch_size;
  }

 public:
  using machine = typename Job::machine;

  // Counts.
  /// Processes of the cluster.
  [[nodiscard]] static constexpr int ranks() { return machine::processes.count; }
  /// Copies of the model on all ranks.
  [[nodiscard]] static constexpr int replicas() { return Job::replicas; }
  /// Copies of the model on each rank.
  [[nodiscard]] static constexpr int replicas_of_rank() { return share::replicas; }

  // Time of a weight update with all its micro-batches.
  /// Seconds of a rank's own work.
  [[nodiscard]] static constexpr double work_seconds() {
    if constexpr (is_host<machine_of_rank>)
      return host_seconds(3.0 * share::replicas * micro_batches());
    else
      return rank().seconds();
  }
  /// Seconds of the last backward pass, with which sums can overlap: that of the first stage.
  [[nodiscard]] static constexpr double backward_seconds() {
    if constexpr (is_host<machine_of_rank>)
      return host_seconds(2);
    else
      return machine_of_rank::target.seconds(rank().stage(0).backward_cycles());
  }
  /// The sum of gradients over all ranks: its seconds, bytes and rounds.
  [[nodiscard]] static constexpr exchange_price exchange(gradient_sums by = gradient_sums::direct) {
    return price_of_sum(between, gradients(), by);
  }
  /// Work, overlapped and exposed seconds of a step.
  [[nodiscard]] static constexpr step_price step(gradient_exchange how = {}) {
    return price_of_step(work_seconds(), backward_seconds(), exchange(how.by), how.overlaps);
  }
  /// Seconds of a step.
  [[nodiscard]] static constexpr double seconds(gradient_exchange how = {}) { return step(how).seconds(); }
  /// Seconds of the sum during the last backward pass; 0 unless `how.overlaps`.
  [[nodiscard]] static constexpr double overlapped_seconds(gradient_exchange how = {}) {
    return step(how).overlapped_seconds;
  }
  /// Seconds of the sum in which ranks wait.
  [[nodiscard]] static constexpr double exposed_seconds(gradient_exchange how = {}) {
    return step(how).exposed_seconds;
  }
  /// The part of a step in which ranks work: 1 if the network costs nothing.
  [[nodiscard]] static constexpr double efficiency(gradient_exchange how = {}) { return step(how).efficiency(); }
  /// Samples of all ranks that are worked on in a second.
  [[nodiscard]] static constexpr double samples_per_second(gradient_exchange how = {}) {
    return static_cast<double>(Job::training.batch_size) * micro_batches() * replicas() / seconds(how);
  }

  // Bytes.
  /// Bytes of the gradients that a rank sums, as they lie in its memory.
  [[nodiscard]] static constexpr std::int64_t gradient_bytes() { return 4 * floats_of_gradients(); }
  /// Bytes that a rank sends to others in a step. Those of gradient_sums::direct are exact for hosts.
  [[nodiscard]] static constexpr std::int64_t bytes_sent(int rank, gradient_sums by = gradient_sums::direct) {
    return by == gradient_sums::direct ? direct_bytes(gradients(), rank) : exchange(by).bytes;
  }
  /// Bytes of weights, optimizer's state, gradients and activations of a rank's replicas by the plan, and of messages
  /// that a host has received.
  [[nodiscard]] static constexpr std::int64_t memory(int rank) {
    constexpr std::int64_t of_replica = []<std::size_t... Device>(std::index_sequence<Device...>) {
      auto const all = [](stagecraft::device_memory const& of) { return of.on_device() + of.remote(); };
      return (0LL + ... + all(device_memory_of<typename Job::model, share::training, static_cast<int>(Device)>));
    }(std::make_index_sequence<std::size_t{planning_timetable<typename Job::planned>.devices()}>{});
    auto const part = kernels::shard_of(gradients().floats, rank, ranks());
    bool const receives = is_host<machine_of_rank> && ranks() > 1;
    return share::replicas * of_replica + (receives ? 4 * (part.last - part.first) * gradients().sums * ranks() : 0);
  }

  /// The profile of one rank's IPUs with its own replicas.
  [[nodiscard]] static constexpr auto const& rank()
    requires(machines::is_ipu<machine_of_rank>)
  {
    return profile<typename Job::model, share::training, machine_of_rank, Job::mode>;
  }

 private:
  static constexpr summed_gradients gradients() {
    bool const adds_alone = is_host<machine_of_rank>;  // IPUs of a rank reduce in a ring
    return {ranks(), floats_of_gradients(), adds_alone ? share::replicas / (share::replicas & -share::replicas) : 1};
  }
};

}  // namespace stagecraft::mpi

namespace stagecraft::tiles {

/// `sc::profile` of a cluster:
///
///     using rack = sc::cluster<sc::ipu<>, sc::ranks{16}, sc::network{.gigabits = 100, .latency_us = 2}>;
///     static_assert(sc::profile<mlp, training, rack>.efficiency() > 0.9);
template <class Machine, ranks Ranks, network Network>
struct profile_on<mpi::cluster_machine<Machine, Ranks, Network>> {
  template <class Job>
  using type = std::conditional_t<mpi::splits_stages<Job>, mpi::staged_cluster_profile<Job>, mpi::cluster_profile<Job>>;
  template <class Job>
  static constexpr diagnostic const& problem() {
    return mpi::cluster_profile_problem<Job>();
  }
};

}  // namespace stagecraft::tiles

#include <stagecraft/diagnostics/end_headers.hpp>
