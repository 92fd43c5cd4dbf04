// SPDX-License-Identifier: BSD-3-Clause
// What a pass of a stage tells the processes of other stages: its results, and that it has finished a micro-batch.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/step_plan.hpp>
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
      processes::post(process, Pass, std::move(message));
    }
  }
  /// Waits until the pass has finished `count` micro-batches in another process.
  static void receive(memory_type& own, std::int64_t count) {
    for (auto known = own.done[Pass].value(); known < count; ++known) {
      long long floats = 0;
      for_each_part(own, known, processes::number(), false, [&](float*, long long of_part) { floats += of_part; });
      std::vector<float> message(static_cast<std::size_t>(floats));
      processes::take(Sizes::process_of(own.replica, device), Pass, message);
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

}  // namespace stagecraft::engine
