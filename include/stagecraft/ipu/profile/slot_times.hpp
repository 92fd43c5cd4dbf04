// SPDX-License-Identifier: BSD-3-Clause
// The time of the slots of a pipeline's timetable on IPUs: in each slot all of a replica's IPUs work, then they send to
// each other. There is one constant for a few slots each.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/profile/pass_profile.hpp>
#include <stagecraft/plan/passes.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The cycles of a slot, by the devices of a replica.
template <std::size_t Devices>
struct slot_time {
  /// Cycles in which a device is busy before the transfers between IPUs.
  std::array<std::int64_t, Devices> busy{};
  /// Cycles of a device's transfers with the host and with streaming memory that I/O tiles carry out meanwhile.
  std::array<std::int64_t, Devices> hidden_host{}, hidden_streaming{};
  std::int64_t longest = 0;    ///< most busy cycles of a device
  std::int64_t inter_ipu = 0;  ///< cycles of transfers between IPUs
  std::int64_t sync = 0;       ///< cycles of the IPUs' sync before these transfers

  [[nodiscard]] constexpr std::int64_t cycles() const noexcept { return longest + inter_ipu + sync; }
};

/// The cycles of a pass in one slot.
struct pass_share {
  std::int64_t work = 0;  ///< cycles of computing, of gathering weights, and of exchanges with I/O tiles
  std::int64_t host = 0;
  std::int64_t streaming = 0;
};

/// The cycles and bytes of a pass that the time of its slots follows from.
template <std::size_t Devices>
struct pass_time {
  int device = 0;
  pass_share ahead;  ///< recomputation in the slot before its own
  pass_share own;
  // Overlapped input and output.
  std::int64_t infeed = 0;   ///< cycles of the slot before its own
  std::int64_t outfeed = 0;  ///< cycles of the slot after
  std::int64_t sent_bytes = 0;
  std::array<std::int64_t, 4 * Devices> links{};  ///< bytes over each link of each IPU
};

template <class Job, int Pass>
inline constexpr auto pass_time_of = [] {
  constexpr auto const& pass = pass_profile_of<Job, Pass>;
  constexpr auto const& table = planning_timetable<Job>;
  constexpr auto devices = static_cast<std::size_t>(table.devices());
  constexpr bool overlaps_io = unchecked_timetable<typename Job::planned>.overlaps_io();
  pass_time<devices> result;
  result.device = pass.device;
  result.own.work = pass.work(Job::trains).cycles() + pass.gather_cycles;
  result.own.streaming = pass.streaming_cycles;
  (overlaps_io ? result.outfeed : result.own.host) = pass.host_cycles;
  if constexpr (table.is_backward(Pass) && table.recomputes_ahead(table.stage_of_pass(Pass))) {
    result.ahead = {pass.recompute.cycles() + pass.gather_cycles, 0, pass.recompute_streaming_cycles};
    result.own.work -= result.ahead.work;
    result.own.streaming -= result.ahead.streaming;
  }
  if constexpr (overlaps_io) {
    result.infeed = pass.infeed_cycles;
    result.outfeed -= pass.infeed_cycles;
    if (auto const bytes = pass.transferred_bytes(); bytes > 0)
      result.own.work += exchange_cycles(Job::machine::target, ceil_div(bytes, Job::machine::io_tiles)) +
                         sync_cycles(Job::machine::target);
  }
  result.sent_bytes = pass.sent_bytes;
  for (auto const& transfer : pass_plan_of<typename Job::planned, Pass>.transfers) {
    if (transfer.device < 0) continue;
    int const size = bytes_of_number<Job>(transfer.call);
    for (int link = 0; link < 4; ++link)
      for (int ipu = 0; ipu < table.devices(); ++ipu)
        if (passes_link(pass.device, transfer.device, ipu, static_cast<ipu_link>(link)))
          result.links[4 * static_cast<std::size_t>(ipu) + static_cast<std::size_t>(link)] += transfer.floats * size;
  }
  return result;
}();

template <class Job>
inline constexpr auto pass_times =
    array_of_each<planning_timetable<Job>.passes()>([]<int Pass>() { return pass_time_of<Job, Pass>; });

/// A timetable with few micro-batches, whose slots are all evaluated, and the blocks of slots that the whole timetable
/// has in addition. These blocks in its middle are alike: the same passes follow each other on other micro-batches.
struct short_timetable {
  timetable table;
  int first_slot = 0;         ///< first slot of the repeated block
  int period = 0;             ///< its slots
  std::int64_t left_out = 0;  ///< repetitions of the block, beyond the one in the table
  int looked_at = 0;          ///< first micro-batches, in whose slots other passes run than in later ones

  constexpr explicit short_timetable(timetable const& whole) : table(whole) {}
};

template <class Job>
inline constexpr short_timetable short_timetable_of = [] {
  constexpr timetable whole = unchecked_timetable<Job>;
  short_timetable result(whole);
  int block = 1;
  if (whole.schedule() == schedule::interleaved) block = whole.overlap_length();
  if (whole.schedule() == schedule::sequential) block = whole.batch_serialization();
  int const micro_batches = whole.micro_batches();
  int const span = (whole.place(whole.passes() - 1) + 1) * whole.batch_serialization() + (whole.overlaps_io() ? 2 : 0);
  int first = 0;  // micro-batch: all before it have begun, and the first has ended
  while (first < micro_batches && whole.slot(0, first) < span) first += block;
  result.looked_at = first + block < micro_batches ? first + block : micro_batches;
  int const shorter = first + block + micro_batches % block;
  if (shorter >= micro_batches) return result;
  result.table = timetable(whole.schedule(), devices_of_stages<typename Job::model>, shorter, whole.trains(),
                           whole.batch_serialization(), whole.recomputation(), whole.overlaps_io());
  result.first_slot = whole.infeed_slot(first);
  result.period = whole.infeed_slot(first + block) - result.first_slot;
  result.left_out = (micro_batches - shorter) / block;
  return result;
}();

inline constexpr int slots_at_once = 16;

template <class Job>
constexpr auto find_slot_time(int slot) {
  constexpr auto const& table = short_timetable_of<typename Job::planned>.table;
  constexpr auto const& passes = pass_times<Job>;
  constexpr auto devices = static_cast<std::size_t>(table.devices());
  slot_time<devices> result;
  std::array<std::int64_t, 4 * devices> links{};
  std::array<std::int64_t, devices> host{}, streaming{};
  bool sends = false;
  for (int pass = 0; pass < table.passes(); ++pass) {
    auto const& own = passes[pass];
    auto const device = static_cast<std::size_t>(own.device);
    auto const add = [&](pass_share const& share) {
      result.busy[device] += share.work;
      host[device] += share.host;
      streaming[device] += share.streaming;
    };
    if (table.micro_batch_at(pass, slot + 1) >= 0) host[device] += own.infeed;
    if (table.micro_batch_at(pass, slot - 1) >= 0) host[device] += own.outfeed;
    if (own.ahead.work + own.ahead.streaming > 0 && table.micro_batch_at(pass, slot + 1) >= 0) add(own.ahead);
    if (table.micro_batch_at(pass, slot) < 0) continue;
    add(own.own);
    if (own.sent_bytes == 0) continue;
    sends = true;
    for (std::size_t i = 0; i < links.size(); ++i) links[i] += own.links[i];
  }
  for (std::size_t i = 0; i < devices; ++i) {
    if (table.overlaps_io()) {
      result.hidden_host[i] = smaller(result.busy[i], host[i]);
      result.hidden_streaming[i] = smaller(result.busy[i] - result.hidden_host[i], streaming[i]);
    }
    result.busy[i] += host[i] + streaming[i] - result.hidden_host[i] - result.hidden_streaming[i];
    result.longest = larger(result.longest, result.busy[i]);
  }
  if (!sends) return result;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i] > 0)
      result.inter_ipu = larger(result.inter_ipu,
                                cycles_at(Job::machine::target, links[i],
                                          link_bytes_per_second(Job::machine::target, static_cast<ipu_link>(i % 4))));
  result.sync = sync_cycles(Job::machine::target, table.devices());
  return result;
}

/// The times of a few slots from `First` on.
template <class Job, int First>
inline constexpr auto few_slot_times = [] {
  constexpr auto devices = static_cast<std::size_t>(short_timetable_of<typename Job::planned>.table.devices());
  std::array<slot_time<devices>, slots_at_once> result{};
  int const slots = short_timetable_of<typename Job::planned>.table.slots();
  for (int i = 0; i < slots_at_once && First + i < slots; ++i) result[i] = find_slot_time<Job>(First + i);
  return result;
}();

template <class Job>
inline constexpr auto slot_times =
    array_of_each<ceil_div(short_timetable_of<typename Job::planned>.table.slots(), slots_at_once)>(
        []<int Part>() { return &few_slot_times<Job, Part * slots_at_once>; });

/// A slot of the timetable, or, of a long one, of short_timetable_of.
template <class Job>
constexpr auto const& slot_time_of(int slot) {
  return (*detail::slot_times<Job>[slot / detail::slots_at_once])[slot % detail::slots_at_once];
}

}  // namespace stagecraft::tiles
