// SPDX-License-Identifier: BSD-3-Clause
// The processes that train one model together: which replicas are in this one, and what they exchange. The engine asks
// this; <stagecraft/mpi.hpp> has the answer for MPI's ranks.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::engine {

/// The processes of a machine that is one process: all replicas are here.
///
/// Where there are several, `is_alone` is false, and these static functions exist. All processes call those of the
/// second group in the same order, on the thread that has called `fit`; each throws if another process has failed, does
/// something else, or does not come in time.
/// - `most`: the highest number of processes. `by_stage`: the devices of replicas are in several processes in any case.
/// - `replicas_here(replicas)`, `first_replica(replicas)`: the replicas of this process, which are consecutive.
/// - `add_up<Plan>(gradients, elements)`: adds up the gradients of this process's replicas as far as the tree of all
///   replicas does, in a range of a weight's elements.
///
/// - `agree(round, model, trains, looks)`: compares what the processes do next, and returns the first one's
///   joint_decision; if they train, all take over its learning rate, too. `looks`: callbacks look at the model.
/// - `share_weights(session)`: copies the weights of the first process to the others that use them.
/// - `exchange<Plan>(gradients, floats)`: the rest of the sum over replicas; each replica of this process gets it.
/// - `begin_sum(number, gradients, floats)`: begins a part of this sum, if this process has one replica, while its
///   backward pass still runs; `go_on<Plan>()` looks after what has begun. `exchange` then waits for all parts.
/// - `scatter_sums<Sizes, Plan>(gradients, is_shared)`, `gather_weights<Sizes>(weights, is_shared)`: in place of
///   `exchange`, where each replica has a shard of the optimizer's state: replicas get the sums of their shards, and,
///   after updates, all get the weights of each shard. `is_shared[i]`: weight i is one of those that are trained.
/// - `gather(values, bytes, replicas)`: `values` has `bytes` bytes for each replica; those of this process's replicas
///   are copied to all others.
/// - `scatter(array, rows)`: `rows` has, for each process, the samples that it reads of an array (a
///   trainers::sample_source) that the first one has; each gets its own, unless it has them.
/// - `send(process, data, bytes)`: copies bytes of the process with this number to the others.
///
/// If `most` processes cannot have equal numbers of whole replicas, the devices of a replica may be in several of them
/// (`Sizes::splits`):
/// - `process_of(replica, replicas, device, devices)`: the process of a replica's device. If it has the same device of
///   several replicas, these are consecutive. `number()`, `count()`: this process, and how many there are;
///   `check_count()` throws if these are too many.
/// - `pages`: an aligned_block::page_source for weights, of which a process uses those of its devices.
/// - `messages<Sizes, Mode, Pass>`: pass_messages, which calls the next four.
/// - `begin_messages()`: an execution begins; `end_messages()`: waits until all that was posted has left.
/// - `post(process, pass, floats)`: sends a message to a process; those of a pass keep their order. Passes of all
///   replicas have numbers of their own.
/// - `take(process, pass, floats)`: waits for a message of a process.
/// - `collect(session)`: copies weights and the optimizer's state from each device's process to the first one.
/// - `exchange_devices<Sizes, Plan>(gradients)`: adds up the gradients of each device's weights over all replicas;
///   `gradients` are those of the replicas of this process.
/// - `share_of_weights<Sizes>(values, bytes)`: `values` has `bytes` bytes for each weight. Each process gets those of
///   all weights from the processes that have the first replica's devices.
struct one_process {
  static constexpr bool is_alone = true;
  static constexpr int most = 1;
  static constexpr bool by_stage = false;
};

/// Replicas that follow each other.
struct some_replicas {
  int first = 0;
  int count = 0;
};

/// The replicas of this process where the devices of replicas may be in several processes.
template <class Sizes>
struct split_replicas {
  /// The replicas from the first to the last that has a device here.
  [[nodiscard]] static some_replicas here() {
    Sizes::processes::check_count();
    static some_replicas const found = with([](int) { return true; });
    return found;
  }
  /// The replicas whose first stage is here.
  [[nodiscard]] static some_replicas fed() {
    static some_replicas const found =
        with([](int device) { return device == Sizes::template table<Sizes::main_mode>().device_of_stage(0); });
    return found;
  }

 private:
  template <class Counts>
  [[nodiscard]] static some_replicas with(Counts const& counts) {
    some_replicas result;
    for (int replica = 0; replica < Sizes::replicas; ++replica)
      for (int device = 0; device < Sizes::devices; ++device)
        if (Sizes::is_here(replica, device) && counts(device)) {
          if (result.count == 0) result.first = replica;
          result.count = replica - result.first + 1;
        }
    return result;
  }
};

/// The process that has a replica's losses and predictions.
template <class Sizes>
[[nodiscard]] int process_of_results(int replica) {
  if constexpr (Sizes::splits)
    return Sizes::process_of(replica, Sizes::device_of_losses);
  else
    return replica / Sizes::replicas_here();
}

/// The process that reads a replica's samples.
template <class Sizes>
[[nodiscard]] int process_of_samples(int replica) {
  if constexpr (Sizes::splits)
    return Sizes::process_of(replica, Sizes::template table<Sizes::main_mode>().device_of_stage(0));
  else
    return replica / Sizes::replicas_here();
}

/// The facts that the processes of a job compare before they carry out something together.
struct process_round {
  enum kind : int {
    training,
    evaluation,
    prediction,
    end_of_epoch,
    begin_of_fit,
    end_of_fit,
    begin_of_trainer,
    work_of_first  ///< the first process works alone
  };

  int what = training;
  int first = 0;    ///< first step of an execution, or number of an epoch
  int steps = 0;    ///< steps of the execution
  int of = 0;       ///< steps or epochs in all
  int batches = 0;  ///< batches of all replicas
  int batch_size = 0;
  int scattered = 0;  ///< arrays that the first process alone has, as bits with the numbers of a batch_loader

  friend constexpr bool operator==(process_round const&, process_round const&) = default;
};

/// What the first process decides for all.
struct joint_decision {
  bool stops = false;  ///< training stops
  bool looks = false;  ///< callbacks look at the model after each execution
};

/// The processes of a machine: `type`. A specialisation says it, as that of `policy_of_machine` does.
template <class Machine>
struct processes_of_machine {
  using type = one_process;
};
template <class Machine>
using processes_of = typename processes_of_machine<Machine>::type;

}  // namespace stagecraft::engine
