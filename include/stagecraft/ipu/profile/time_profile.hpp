// SPDX-License-Identifier: BSD-3-Clause
// The time of a weight update, or of an execution without training, on IPUs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/profile/slot_times.hpp>
#include <stagecraft/ipu/profile/update_profile.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The cycles of one IPU by purpose.
struct ipu_cycles {
  std::int64_t compute = 0;    ///< cycles in compute sets
  std::int64_t exchange = 0;   ///< exchange between its tiles
  std::int64_t sync = 0;       ///< syncs of its tiles, and of all IPUs before they send to each other
  std::int64_t inter_ipu = 0;  ///< transfers between IPUs; those of replicas include their syncs
  std::int64_t host = 0;       ///< transfers with the host that do not overlap with other work
  std::int64_t streaming = 0;  ///< transfers with streaming memory that do not overlap with other work
  std::int64_t idle = 0;       ///< waiting for other IPUs

  friend constexpr bool operator==(ipu_cycles const&, ipu_cycles const&) = default;

  /// The sum of all cycles.
  [[nodiscard]] constexpr std::int64_t total() const noexcept {
    return compute + exchange + sync + inter_ipu + host + streaming + idle;
  }
};

/// The time of one replica; others take as long.
template <std::size_t Devices>
struct time_profile {
  std::int64_t slots = 0;        ///< cycles of all slots of the timetable
  std::int64_t update = 0;       ///< cycles of the weight update after them
  std::int64_t update_sync = 0;  ///< cycles of `update` for the sync of all IPUs at its end

  /// The most cycles that a micro-batch takes from the begin of the slot in which it comes to the end of the one in
  /// which its results leave.
  std::int64_t latency = 0;
  std::int64_t idle_in_slots = 0;  ///< idle cycles of all devices together
  std::int64_t flops = 0;          ///< floating-point operations of all devices, weight update included
  std::array<ipu_cycles, Devices> devices{};

  [[nodiscard]] constexpr std::int64_t cycles() const noexcept { return slots + update; }
};

/// The sum over a number of slots.
template <std::size_t Devices>
struct slot_sum {
  std::int64_t cycles = 0, inter_ipu = 0, sync = 0;
  std::array<std::int64_t, Devices> idle{}, hidden_host{}, hidden_streaming{};

  constexpr void add(slot_sum const& other, std::int64_t times) {
    cycles += times * other.cycles;
    inter_ipu += times * other.inter_ipu;
    sync += times * other.sync;
    for (std::size_t i = 0; i < Devices; ++i) {
      idle[i] += times * other.idle[i];
      hidden_host[i] += times * other.hidden_host[i];
      hidden_streaming[i] += times * other.hidden_streaming[i];
    }
  }
};

template <class Job>
constexpr auto add_slots(int first, int last) {
  constexpr auto devices = static_cast<std::size_t>(planning_timetable<Job>.devices());
  slot_sum<devices> sum;
  for (int slot = first; slot < last; ++slot) {
    auto const& own = slot_time_of<Job>(slot);
    sum.cycles += own.cycles();
    sum.inter_ipu += own.inter_ipu;
    sum.sync += own.sync;
    for (std::size_t i = 0; i < devices; ++i) {
      sum.idle[i] += own.longest - own.busy[i];
      sum.hidden_host[i] += own.hidden_host[i];
      sum.hidden_streaming[i] += own.hidden_streaming[i];
    }
  }
  return sum;
}

template <class Job>
inline constexpr auto pass_profiles =
    array_of_each<planning_timetable<Job>.passes()>([]<int Pass>() { return &pass_profile_of<Job, Pass>; });

template <class Job>
class time_profiler {
  static constexpr auto const& whole = unchecked_timetable<typename Job::planned>;
  static constexpr auto const& shortened = short_timetable_of<typename Job::planned>;
  static constexpr auto devices = static_cast<std::size_t>(whole.devices());
  static constexpr bool trains = Job::trains;

 public:
  constexpr time_profile<devices> make() {
    auto sum = add_slots<Job>(0, shortened.table.slots());
    if (shortened.left_out > 0)
      sum.add(add_slots<Job>(shortened.first_slot, shortened.first_slot + shortened.period), shortened.left_out);
    result_.slots = sum.cycles;
    add_passes();
    for (std::size_t i = 0; i < devices; ++i) {
      auto& own = result_.devices[i];
      own.inter_ipu += sum.inter_ipu;
      own.sync += sum.sync;
      own.idle += sum.idle[i];
      result_.idle_in_slots += sum.idle[i];
      own.host -= sum.hidden_host[i];
      own.streaming -= sum.hidden_streaming[i];
    }
    result_.latency = latency();
    if constexpr (trains) add_update();
    return result_;
  }

 private:
  static constexpr void add(ipu_cycles& to, operation_cost const& cost, std::int64_t times) {
    to.compute += times * cost.compute_cycles;
    to.exchange += times * cost.exchange_cycles;
    to.sync += times * cost.sync_cycles;
  }

  constexpr void add_passes() {
    std::int64_t const times = whole.micro_batches();
    auto const& times_of_passes = pass_times<Job>;
    for (std::size_t i = 0; i < times_of_passes.size(); ++i) {
      auto const& pass = *pass_profiles<Job>[i];
      auto& device = result_.devices[pass.device];
      auto const work = pass.work(trains);
      add(device, work, times);
      result_.flops += times * work.flops;
      device.inter_ipu += times * pass.gather_cycles;
      // The remainder is the exchange with I/O tiles.
      device.exchange +=
          times * (times_of_passes[i].ahead.work + times_of_passes[i].own.work - work.cycles() - pass.gather_cycles);
      device.host += times * pass.host_cycles;
      device.streaming += times * pass.streaming_cycles;
    }
  }

  /// Cycles of the whole timetable's slots before one, from those of the shortened one's, whose block comes again.
  static constexpr std::int64_t cycles_before(int slot, auto const& of_short) {
    auto const before = [&](int number) { return of_short[number]; };
    int const end_of_block = shortened.first_slot + shortened.period;
    if (shortened.left_out == 0 || slot <= end_of_block) return before(slot);
    auto const block = before(end_of_block) - before(shortened.first_slot);
    auto const blocks = (slot - end_of_block) / shortened.period;
    if (blocks < shortened.left_out)
      return before(end_of_block) + blocks * block - before(shortened.first_slot) +
             before(shortened.first_slot + (slot - end_of_block) % shortened.period);
    return shortened.left_out * block + before(slot - static_cast<int>(shortened.left_out) * shortened.period);
  }
  static constexpr std::int64_t latency() {
    std::array<std::int64_t, shortened.table.slots() + 1> cycles{};
    for (int slot = 0; slot < shortened.table.slots(); ++slot)
      cycles[slot + 1] = cycles[slot] + slot_time_of<Job>(slot).cycles();
    std::int64_t longest = 0;
    for (int micro_batch = 0; micro_batch < shortened.looked_at; ++micro_batch)
      longest = larger(longest, cycles_before(whole.outfeed_slot(micro_batch) + 1, cycles) -
                                    cycles_before(whole.infeed_slot(micro_batch), cycles));
    return longest;
  }

  constexpr void add_update() {
    constexpr int replicas = Job::replicas;
    constexpr int ipus = replicas > 1 ? replicas * static_cast<int>(devices_of_replica(static_cast<int>(devices)))
                                      : static_cast<int>(devices);
    auto const& updates = update_profiles<Job>;
    std::int64_t longest = 0;
    for (update_profile const& own : updates) longest = larger(longest, own.cycles());
    constexpr auto sent = collective_cycles_of<Job>;
    result_.update_sync = ipus > 1 ? sync_cycles(Job::machine::target, ipus) : 0;
    result_.update = longest + sent + result_.update_sync;
    for (std::size_t i = 0; i < devices; ++i) {
      auto& own = result_.devices[i];
      add(own, updates[i].cost, 1);
      add(own, updates[i].reduction, 1);
      result_.flops += updates[i].cost.flops + updates[i].reduction.flops;
      own.streaming += updates[i].streaming_cycles;
      own.inter_ipu += sent;
      own.sync += result_.update_sync;
      own.idle += longest - updates[i].cycles();
    }
  }

  time_profile<devices> result_;
};

template <class Job>
inline constexpr auto time_profile_of = detail::time_profiler<Job>().make();

}  // namespace stagecraft::tiles
