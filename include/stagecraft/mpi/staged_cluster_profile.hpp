// SPDX-License-Identifier: BSD-3-Clause
// The profile of a training whose stages are on several ranks of a cluster, as constants of the compiler.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/exchange_prices.hpp>
#include <stagecraft/mpi/stage_prices.hpp>
#include <stagecraft/plan/device_memory.hpp>
#include <stagecraft/plan/passes.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::mpi {

/// The result of `sc::profile` for a cluster whose ranks have some of the stages of some replicas. A step is one weight
/// update: the passes of all micro-batches in the order of the timetable, with the messages between ranks, and then the
/// sums of gradients, each among the ranks that have the same stage. On hosts a forward pass takes the operations of
/// its layers at `ranks.gigaflops`, a backward pass twice as many, and what it recomputes once more; on IPUs passes
/// take the cycles of their profile, and stages of a rank on several of its IPUs take turns as they do on a host.
///
/// What is not priced: updates of weights on hosts, other traffic of the network, ranks that are slower than others,
/// norms and penalties, and what ranks tell each other between executions.
template <class Job>
class staged_cluster_profile {
  using machine_of_rank = typename Job::machine::machine_of_rank;
  static constexpr network between = Job::machine::between;
  static constexpr timetable const& table = planning_timetable<typename Job::planned>;
  static constexpr stages_on_ranks placed{Job::replicas, table.devices(), Job::machine::processes.count,
                                          Job::machine::processes.placement};

  /// Seconds of a host for the forward pass of a stage and a micro-batch.
  static constexpr double forward_seconds(int stage, double gigaflops) {
    std::int64_t flops = 0;
    for (std::size_t i = 0; i < Job::graph.calls.size(); ++i)
      if (!Job::graph.calls[i].is_input && stage_of_graph_call<typename Job::model>(static_cast<int>(i)) == stage)
        flops += Job::graph.calls[i].flops;
    return static_cast<double>(flops) * Job::training.batch_size / (gigaflops * 1e9);
  }
  /// The profile of one replica on as many IPUs of the ranks' kind as it takes.
  template <class Machine>
  static constexpr auto const& profile_of_replica() {
    constexpr auto training = [] {
      auto result = Job::training;
      result.num_replicas = 1;
      return result;
    }();
    constexpr auto config = [] {
      auto result = Machine::config;
      result.auto_select_ipus = static_cast<int>(jobs::devices_of_replica(table.devices()));
      return result;
    }();
    return profile<typename Job::model, training, ipu_devices<config>, Job::mode>;
  }
  static constexpr double seconds_of(int pass, double gigaflops) {
    int const stage = table.stage_of_pass(pass);
    if constexpr (machines::is_ipu<machine_of_rank>)
      return machine_of_rank::target.seconds(cycles_of<machine_of_rank>(pass));
    else if (!table.is_backward(pass))
      return forward_seconds(stage, gigaflops);
    else
      return forward_seconds(stage, gigaflops) * (table.recomputes(stage) ? 3 : 2);
  }
  /// Cycles of an IPU for a pass of one micro-batch. What comes from the host and streaming memory, and goes there, is
  /// counted with the first forward pass of each IPU.
  template <class Machine>
  static constexpr std::int64_t cycles_of(int pass) {
    int const stage = table.stage_of_pass(pass), device = table.device_of_stage(stage);
    constexpr auto const& priced = profile_of_replica<Machine>();
    auto const of_stage = priced.stage(stage);
    if (table.is_backward(pass)) return of_stage.recompute_cycles() + of_stage.backward_cycles();
    if (stage != table.first_stage_on(device)) return of_stage.forward_cycles();
    auto const all = priced.cycles_of(device);
    return of_stage.forward_cycles() + (all.host + all.streaming) / table.micro_batches();
  }
  /// Seconds of the weight update; of hosts it is not known.
  static constexpr double update_seconds() {
    if constexpr (machines::is_ipu<machine_of_rank>)
      return machine_of_rank::target.seconds(profile_of_replica<machine_of_rank>().update_cycles());
    else
      return 0;
  }
  static constexpr auto passes(double gigaflops) {
    using shape = plan::session_shape<typename Job::described>;
    tracing::growing_array<pass_price> result;
    for_each_index<std::size_t{table.passes()}>([&]<int Pass>() {
      constexpr auto const& pass = plan::pass_plan_of<typename Job::planned, Pass>;
      result.push_back({});
      result.back().seconds = seconds_of(Pass, gigaflops);
      for (auto const& transfer : pass.transfers)
        if (transfer.device >= 0) result.back().messages.push_back({transfer.device, 4 * transfer.floats});
      for (auto const& wait : pass.waits) result.back().waits.push_back(wait);
      if constexpr (Pass == 0) {  // the number of samples, and the targets
        result.back().bytes_to_each_rank = 4;
        result.back().messages.push_back(
            {table.device_of_stage(table.stages() - 1),
             4 * (shape::target_offset(shape::end_count) + shape::scale_offset(shape::end_count))});
      }
    });
    return result;
  }
  static constexpr double speed = Job::machine::processes.gigaflops;
  static constexpr staged_price round_of(int rank) {
    return price_of_passes(table, passes(speed), placed, between, rank);
  }
  static constexpr staged_price round = round_of(0);

  static constexpr std::int64_t floats_of(int device) {
    constexpr auto const& weights =
        engine::weight_storage_of<typename Job::model, typename machine_of_rank::architecture>;
    std::int64_t floats = 0;
    for (std::size_t i = 0; i < weights.count; ++i) {
      int const call = Job::graph.layer(Job::graph.layer_of_parameter(static_cast<int>(i))).first_call;
      if (table.device_of_stage(stage_of_graph_call<typename Job::model>(call)) == device) floats += weights.size[i];
    }
    return floats;
  }

 public:
  using machine = typename Job::machine;

  // Counts.
  /// Processes of the cluster.
  [[nodiscard]] static constexpr int ranks() { return machine::processes.count; }
  /// Copies of the model on all ranks.
  [[nodiscard]] static constexpr int replicas() { return Job::replicas; }
  /// Stages of each copy.
  [[nodiscard]] static constexpr int stages() { return table.stages(); }

  // Time of a weight update with all its micro-batches.
  /// Seconds of the passes of the rank that works most.
  [[nodiscard]] static constexpr double work_seconds() { return round.most_work; }
  /// Seconds of all passes, with what ranks wait for each other.
  [[nodiscard]] static constexpr double pipeline_seconds() { return round.seconds; }
  /// The part of `pipeline_seconds` in which ranks do not work.
  [[nodiscard]] static constexpr double bubble() { return 1 - round.work_seconds / (ranks() * round.seconds); }
  /// The sum of the gradients of a rank's stages.
  [[nodiscard]] static constexpr exchange_price exchange(int rank, gradient_sums by = gradient_sums::direct) {
    return exchange_by(between, rank, by);
  }
  /// Seconds of the longest sum of a rank, in which ranks wait. With `how.overlaps`, all but the latencies of sums that
  /// are shorter than a backward pass of the first stage are hidden.
  [[nodiscard]] static constexpr double exposed_seconds(gradient_exchange how = {}) {
    return exposed_by(between, speed, how);
  }
  /// Seconds of a step.
  [[nodiscard]] static constexpr double seconds(gradient_exchange how = {}) {
    return round.seconds + exposed_seconds(how) + update_seconds();
  }
  /// Seconds of a step at another speed and with another network, such as those that a program has measured.
  [[nodiscard]] static constexpr double seconds_with(double gigaflops, network const& measured)
    requires(!machines::is_ipu<machine_of_rank>)
  {
    return price_of_passes(table, passes(gigaflops), placed, measured, 0).seconds + exposed_by(measured, gigaflops, {});
  }
  /// The part of all ranks' time in which they work.
  [[nodiscard]] static constexpr double efficiency(gradient_exchange how = {}) {
    return round.work_seconds / (ranks() * seconds(how));
  }
  /// Samples of all replicas that are worked on in a second.
  [[nodiscard]] static constexpr double samples_per_second(gradient_exchange how = {}) {
    return static_cast<double>(Job::training.batch_size) * table.micro_batches() * replicas() / seconds(how);
  }

  // Bytes.
  /// Bytes of the gradients of a rank's stages, as they lie in its memory.
  [[nodiscard]] static constexpr std::int64_t gradient_bytes(int rank) {
    std::int64_t bytes = 0;
    for (int device = 0; device < placed.devices; ++device)
      if (placed.has(rank, device)) bytes += 4 * floats_of(device);
    return bytes;
  }
  /// Bytes that a rank sends to others in a step, exact for sums by gradient_sums::direct.
  [[nodiscard]] static constexpr std::int64_t bytes_sent(int rank, gradient_sums by = gradient_sums::direct) {
    return round_of(rank).bytes_of_rank + exchange(rank, by).bytes;
  }
  /// Bytes of a rank by the plan: activations and gradients of its own stages; weights and the optimizer's state of
  /// all stages, which each rank has room for.
  [[nodiscard]] static constexpr std::int64_t memory(int rank) {
    std::int64_t bytes = 0;
    int here = 0;
    for (int replica = 0; replica < placed.replicas; ++replica) {
      bool has_some = false;
      for (int device = 0; device < placed.devices; ++device) {
        if (placed.rank_of(replica, device) != rank) continue;
        has_some = true;
        bytes += own_bytes[device];
      }
      here += has_some ? 1 : 0;
    }
    return bytes + here * bytes_of_all;
  }

 private:
  static constexpr exchange_price exchange_by(network const& linked, int rank, gradient_sums by) {
    exchange_price result;
    for (int device = 0; device < placed.devices; ++device) {
      if (!placed.has(rank, device)) continue;
      auto shared = network_of_sums(linked, placed);
      summed_gradients const of{.ranks = placed.ranks_with(device), .floats = floats_of(device)};
      if (of.ranks % shared.ranks_of_host != 0) shared.ranks_of_host = 1;
      auto const price = price_of_sum(shared, of, by);
      result.seconds += price.seconds;
      result.latency_seconds += price.latency_seconds;
      result.bytes += by == gradient_sums::direct ? direct_bytes(of, placed.ranks_with(device, rank)) : price.bytes;
      result.rounds += price.rounds;
    }
    return result;
  }
  static constexpr double exposed_by(network const& linked, double gigaflops, gradient_exchange how) {
    double const backward = seconds_of(table.backward_pass(0), gigaflops);
    double most = 0;
    for (int rank = 0; rank < placed.of_one().ranks; ++rank) {
      auto const step = price_of_step(0, backward, exchange_by(linked, rank, how.by), how.overlaps);
      if (step.exposed_seconds > most) most = step.exposed_seconds;
    }
    return most;
  }

  template <int Device>
  static constexpr stagecraft::device_memory const& memory_of =
      device_memory_of<typename Job::model, Job::training, Device>;
  static constexpr auto own_bytes = []<int... Device>(std::integer_sequence<int, Device...>) {
    auto const sum = [](plan::memory_bytes const& of) { return of.on_device + of.remote; };
    return std::array<std::int64_t, sizeof...(Device)>{(sum(memory_of<Device>.activations) +
                                                        sum(memory_of<Device>.working) +
                                                        sum(memory_of<Device>.gradient_accumulators))...};
  }(std::make_integer_sequence<int, table.devices()>{});
  static constexpr std::int64_t bytes_of_all = []<int... Device>(std::integer_sequence<int, Device...>) {
    auto const sum = [](stagecraft::device_memory const& of) {
      return of.weights.on_device + of.weights.remote + of.optimizer_state.on_device + of.optimizer_state.remote;
    };
    return (0LL + ... + sum(memory_of<Device>));
  }(std::make_integer_sequence<int, table.devices()>{});
};

}  // namespace stagecraft::mpi

#include <stagecraft/diagnostics/end_headers.hpp>
