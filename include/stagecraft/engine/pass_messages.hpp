// SPDX-License-Identifier: BSD-3-Clause
// What a pass tells other processes: a stage its results, and that it has finished a micro-batch; a whole model its
// gradients.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stagecraft::engine {

/// The messages of pass number `Pass`, where the devices of replicas are in several processes (`Sizes::splits`). For
/// each micro-batch it sends one to every process with a device that waits for it, or whose rings it writes: what it
/// would copy there. So a count that arrives says all that it says within a process, and what arrives has room. The
/// first pass tells all processes how many samples a micro-batch has, and the process of the losses their targets.
template <class Sizes, execution_mode Mode, int Pass>
class pass_messages {
  using processes = typename Sizes::processes;
  using memory_type = pipeline_memory<Sizes>;
  using job = typename Sizes::job::template in<Mode>;
  static constexpr timetable const& table = Sizes::template table<Mode>();
  static constexpr int device = table.device_of_pass(Pass);

  /// The devices that wait for this pass.
  static constexpr auto receivers = [] {
    std::array<bool, static_cast<std::size_t>(Sizes::devices)> result{};
    if (Pass == 0) result.fill(true);
    for (auto const& transfer : pass_on<job, Pass>.transfers)
      if (transfer.device >= 0) result[transfer.device] = true;
    for_each_index<std::size_t{table.passes()}>([&]<int Other>() {
      for (auto const& wait : pass_on<job, Other>.waits)
        if (wait.pass == Pass) result[table.device_of_pass(Other)] = true;
    });
    return result;
  }();

 public:
  /// True if a process gets messages of this pass of a replica. It does not get its own.
  [[nodiscard]] static bool reaches(int replica, int process) {
    for (int other = 0; other < Sizes::devices; ++other)
      if (receivers[other] && Sizes::process_of(replica, other) == process) return true;
    return false;
  }

  /// Waits, before the pass works on a micro-batch, for those passes in other processes that it follows.
  static void await(memory_type& own, std::int64_t micro_batch) {
    auto const until = [&]<int Other>(std::int64_t count) {
      if (!Sizes::is_here(own.replica, table.device_of_pass(Other)))
        pass_messages<Sizes, Mode, Other>::receive(own, count);
    };
    if constexpr (Pass > 0) until.template operator()<0>(micro_batch + 1);
    for_each_index<pass_on<job, Pass>.waits.size()>([&]<int Wait>() {
      constexpr auto wait = pass_on<job, Pass>.waits[Wait];
      until.template operator()<wait.pass>(micro_batch + 1 - wait.lag);
    });
  }
  /// Waits for what other processes still tell this one of a round.
  static void end_round(memory_type& own, std::int64_t micro_batches) {
    for_each_index<std::size_t{table.passes()}>([&]<int Other>() {
      using messages = pass_messages<Sizes, Mode, Other>;
      if (!Sizes::is_here(own.replica, table.device_of_pass(Other)) &&
          messages::reaches(own.replica, processes::number()))
        messages::receive(own, micro_batches);
    });
  }

  /// Sends what the pass has made of a micro-batch. It returns at once; the memory may change.
  static void send(memory_type& own, std::int64_t micro_batch) {
    for (int process = 0; process < processes::count(); ++process) {
      if (process == processes::number() || !reaches(own.replica, process)) continue;
      std::vector<float> message;
      for_each_part(own, micro_batch, process, true,
                    [&](float const* part, long long floats) { message.insert(message.end(), part, part + floats); });
      processes::post(process, number_of(own), std::move(message));
    }
  }
  /// Waits until the pass has finished `count` micro-batches in another process.
  static void receive(memory_type& own, std::int64_t count) {
    for (auto known = own.done[Pass].value(); known < count; ++known) {
      long long floats = 0;
      for_each_part(own, known, processes::number(), false, [&](float*, long long of_part) { floats += of_part; });
      std::vector<float> message(static_cast<std::size_t>(floats));
      processes::take(Sizes::process_of(own.replica, device), number_of(own), message);
      float const* from = message.data();
      for_each_part(own, known, processes::number(), false, [&](float* part, long long of_part) {
        std::copy_n(from, of_part, part);
        from += of_part;
      });
      if constexpr (Pass == 0) {
        int samples = 0;
        std::memcpy(&samples, message.data(), sizeof samples);
        samples_of(own, known).store(samples, std::memory_order_relaxed);
      }
      own.done[Pass].publish(known + 1);
    }
  }

 private:
  /// Two processes may exchange messages of a pass for several replicas.
  [[nodiscard]] static int number_of(memory_type const& own) { return own.replica * table.passes() + Pass; }
  [[nodiscard]] static auto& samples_of(memory_type& own, std::int64_t micro_batch) {
    return own.samples[micro_batch % Sizes::template samples_alive<Mode>];
  }

  /// each(part, floats) for each part of a message to a process: in the memory of the sender, or of the receiver.
  template <class Each>
  static void for_each_part(memory_type& own, std::int64_t micro_batch, int process, bool sends, Each const& each) {
    if constexpr (Pass == 0) {
      float number = 0;
      int const samples = sends ? samples_of(own, micro_batch).load(std::memory_order_relaxed) : 0;
      static_assert(sizeof number == sizeof samples);
      std::memcpy(&number, &samples, sizeof number);
      each(&number, 1LL);
      if (Sizes::process_of(own.replica, Sizes::device_of_losses) == process) {
        auto const slot = micro_batch % Sizes::template targets_alive<Mode>;
        each(own.targets.data() + slot * Sizes::all_targets, Sizes::all_targets);
        each(own.scales.data() + slot * Sizes::all_scales, Sizes::all_scales);
      }
    }
    for (auto const& transfer : pass_on<job, Pass>.transfers)
      if (transfer.device >= 0 && Sizes::process_of(own.replica, transfer.device) == process)
        each(sends ? own.blocks[device].data() + transfer.from.at(micro_batch)
                   : own.blocks[transfer.device].data() + transfer.to.at(micro_batch),
             static_cast<long long>(transfer.floats));
  }
};

/// The gradients that pass number `Pass` of a model without stages hands to other processes while it still runs: those
/// of weights beside each other in one sum, as soon as the backward steps of all their layers are done. It begins with
/// the last ones, whose gradients come first.
template <class Sizes, class Plan, int Pass>
class early_gradients {
  using processes = typename Sizes::processes;
  static constexpr auto const& pass = Plan::pass;
  static constexpr long long least_floats = 1 << 16;  // of a sum but the first weights', so that latencies are few

  struct part {
    long long first = 0, floats = 0;
    int step = 0;  ///< the step after which all are there
  };

 public:
  /// A gradient is final when the step is done: each layer is called once, and nothing is summed in 16 bits or moved.
  static constexpr bool exist = Pass == 1 && !Sizes::processes::is_alone && !Sizes::splits && !Sizes::shards_state &&
                                Sizes::stages == 1 && Sizes::trains && Sizes::replicas > 1 && Sizes::workers == 1 &&
                                !Sizes::halves && !Sizes::fetches_gradients &&
                                Sizes::gradient_floats == Sizes::weights.floats;

 private:
  /// The last backward step of each layer; 0 of a layer without one.
  static constexpr auto last_steps() {
    tracing::growing_array<int> result;
    for (std::size_t i = 0; i < Plan::graph.layers.size(); ++i) result.push_back(0);
    for (std::size_t step = 0; step < pass.steps.size(); ++step)
      if (pass.steps[step].backward)
        result[static_cast<std::size_t>(Plan::graph.call(pass.steps[step].call).layer)] = static_cast<int>(step);
    return result;
  }
  static constexpr auto make_parts() {
    tracing::growing_array<part> result;
    if (!exist) return result;
    auto const last_step = last_steps();
    for (std::size_t i = Sizes::weights.count; i-- > 0;) {
      if (result.empty() || result.back().floats >= least_floats) result.push_back({});
      auto& last = result.back();
      last.first = Sizes::weights.offset[i];
      last.floats += Sizes::weights.size[i];
      int const step = last_step[static_cast<std::size_t>(Plan::graph.layer_of_parameter(static_cast<int>(i)))];
      if (step > last.step) last.step = step;
    }
    for (std::size_t i = 1; i < result.size(); ++i)  // all processes begin sums in one order
      if (result[i].step < result[i - 1].step) result[i].step = result[i - 1].step;
    return result;
  }
  static constexpr std::size_t count = make_parts().size();
  static constexpr auto parts = [] {
    std::array<part, count> result{};
    auto const found = make_parts();
    for (std::size_t i = 0; i < count; ++i) result[i] = found[i];
    return result;
  }();

 public:
  /// Called after a step of the last micro-batch of a weight update, by the thread that leads.
  static void send(float* gradients, int step) {
    if (Sizes::replicas_here() > 1) return;
    for (std::size_t i = 0; i < count; ++i)
      if (parts[i].step == step) processes::begin_sum(static_cast<int>(i), gradients + parts[i].first, parts[i].floats);
    processes::template go_on<Plan>();
  }
};

}  // namespace stagecraft::engine
