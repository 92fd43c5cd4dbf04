// SPDX-License-Identifier: BSD-3-Clause
// The time line of a profile: the activities of IPUs in each slot, one after the other.
#pragma once

#include <stagecraft/ipu/profile/slot_times.hpp>
#include <stagecraft/ipu/profile/update_profile.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// A step of a pass.
struct profile_work {
  pass_kind kind = pass_kind::forward;
  int layer = -1;
  operation_cost cost;
};

/// Makes a time line from slots, which are added in their order.
class profile_time_line_maker {
 public:
  explicit profile_time_line_maker(timetable const& table) : table_(table) {}

  /// Adds a pass; passes are added in their order.
  void add_pass(pass_profile const& pass, std::vector<profile_work> work) {
    passes_.push_back({&pass, std::move(work)});
  }

  template <std::size_t Devices, class PassTimes>
  void add_slot(int slot, slot_time<Devices> const& time, PassTimes const& times) {
    auto const begin = now_;
    for (int device = 0; device < table_.devices(); ++device) {
      now_ = begin;
      device_ = device;
      hidden_host_ = time.hidden_host[device];
      hidden_streaming_ = time.hidden_streaming[device];
      if (table_.overlaps_io()) add_overlapped_transfers(slot, times);
      for (int pass = table_.stages(); pass < table_.passes(); ++pass)
        add_pass_in_slot(table_.backward_pass(pass - table_.stages()), slot, times);
      for (int pass = 0; pass < table_.stages(); ++pass) add_pass_in_slot(pass, slot, times);
      for (int stage = 0; stage < table_.stages(); ++stage)
        if (table_.recomputes_ahead(stage)) add_recomputation_in_slot(stage, slot);
      wait_until(begin + time.longest);
      last_.kind = pass_kind::send;
      add(cycle_kind::sync, time.sync);
      add(cycle_kind::inter_ipu, time.inter_ipu);
    }
    now_ = begin + time.cycles();
    line_.slots.push_back({begin, now_});
    slot_cycles_.push_back(now_ - begin);
  }

  /// Says that the last `period` slots are repeated `times` times.
  void leave_out(std::int64_t times, int period, int micro_batches) {
    std::int64_t cycles = 0;
    for (int i = 0; i < period; ++i) cycles += slot_cycles_[slot_cycles_.size() - 1 - static_cast<std::size_t>(i)];
    line_.left_out = {now_, now_ + times * cycles};
    line_.slots_left_out = static_cast<int>(times * period);
    now_ = line_.left_out.end;
    count_on(static_cast<int>(times) * micro_batches);
  }

  /// From here on, the numbers of micro-batches are higher than in the timetable by `micro_batches`.
  void count_on(int micro_batches) { added_micro_batches_ += micro_batches; }

  template <std::size_t Devices>
  void add_updates(std::array<update_profile, Devices> const& updates, std::int64_t longest, std::int64_t cycles,
                   std::int64_t sync) {
    auto const begin = now_;
    last_ = {pass_kind::weight_update, -1, -1, -1};
    for (std::size_t i = 0; i < Devices; ++i) {
      now_ = begin;
      device_ = static_cast<int>(i);
      add(cycle_kind::streaming, updates[i].streaming_cycles);
      add(updates[i].cost);
      add(updates[i].reduction);
      wait_until(begin + longest);
      add(cycle_kind::inter_ipu, cycles - longest - sync);
      add(cycle_kind::sync, sync);
    }
    now_ = begin + cycles;
  }

  profile_time_line take() {
    line_.cycles = now_;
    return std::move(line_);
  }

 private:
  struct pass_on_line {
    pass_profile const* pass;
    std::vector<profile_work> work;
  };
  /// The pass, stage, micro-batch and layer of an event.
  struct activity {
    pass_kind kind = pass_kind::forward;
    int stage = -1, micro_batch = -1, layer = -1;
  };

  void add(cycle_kind kind, std::int64_t cycles) {
    if (cycles <= 0) return;
    line_.events.push_back({.ipu = device_,
                            .kind = kind,
                            .pass = last_.kind,
                            .stage = last_.stage,
                            .micro_batch = last_.micro_batch,
                            .layer = last_.layer,
                            .begin = now_,
                            .end = now_ + cycles});
    now_ += cycles;
  }
  void add(operation_cost const& cost) {
    add(cycle_kind::sync, cost.sync_cycles);
    add(cycle_kind::exchange, cost.exchange_cycles);
    add(cycle_kind::compute, cost.compute_cycles);
  }
  void wait_until(std::int64_t time) {
    last_.stage = last_.micro_batch = last_.layer = -1;
    add(cycle_kind::idle, time - now_);
  }

  /// Adds the part of transfers that I/O tiles do not carry out while the others compute.
  void add_visible(cycle_kind kind, std::int64_t cycles) {
    auto& hidden = kind == cycle_kind::host ? hidden_host_ : hidden_streaming_;
    auto const behind = std::min(cycles, hidden);
    hidden -= behind;
    add(kind, cycles - behind);
  }
  void add_steps(std::vector<profile_work> const& work, bool ahead) {
    for (auto const& step : work) {
      if (ahead != (step.kind == pass_kind::recompute && table_.recomputes_ahead(last_.stage))) continue;
      last_.kind = step.kind;
      last_.layer = step.layer;
      add(step.cost);
    }
    last_.layer = -1;
  }

  /// Adds the transfers from the host for the next slot's passes, and to the host for those of the slot before.
  template <class PassTimes>
  void add_overlapped_transfers(int slot, PassTimes const& times) {
    for (int pass = 0; pass < table_.stages(); ++pass) {
      if (table_.device_of_pass(pass) != device_) continue;
      auto const& own = times[pass];
      for (bool const comes : {true, false}) {
        int const micro_batch = table_.micro_batch_at(pass, slot + (comes ? 1 : -1));
        if (micro_batch < 0) continue;
        last_ = {comes ? pass_kind::infeed : pass_kind::outfeed, pass, micro_batch + added_micro_batches_, -1};
        add_visible(cycle_kind::host, comes ? own.infeed : own.outfeed);
      }
    }
  }
  template <class PassTimes>
  void add_pass_in_slot(int pass, int slot, PassTimes const& times) {
    int const micro_batch = table_.micro_batch_at(pass, slot);
    if (micro_batch < 0 || table_.device_of_pass(pass) != device_) return;
    auto const& [own, work] = passes_[pass];
    bool const ahead = own->backward && table_.recomputes_ahead(own->stage);
    last_ = {pass == 0 ? pass_kind::infeed : pass_kind::outfeed, own->stage, micro_batch + added_micro_batches_, -1};
    if (pass == 0) add_visible(cycle_kind::host, times[pass].own.host);
    last_.kind = own->backward ? pass_kind::backward : pass_kind::forward;
    add_visible(cycle_kind::streaming, own->streaming_cycles - own->recompute_streaming_cycles);
    auto const begin = now_;
    if (!ahead) add(cycle_kind::inter_ipu, own->gather_cycles);
    add_steps(work, false);
    // The remainder is the exchange with I/O tiles.
    add(cycle_kind::exchange, begin + times[pass].own.work - now_);
    last_.kind = pass_kind::outfeed;
    if (pass != 0) add_visible(cycle_kind::host, times[pass].own.host);
  }
  void add_recomputation_in_slot(int stage, int slot) {
    int const micro_batch = table_.recomputed_at(stage, slot);
    if (micro_batch < 0 || table_.device_of_stage(stage) != device_) return;
    auto const& [own, work] = passes_[table_.backward_pass(stage)];
    last_ = {pass_kind::recompute, stage, micro_batch + added_micro_batches_, -1};
    add_visible(cycle_kind::streaming, own->recompute_streaming_cycles);
    add(cycle_kind::inter_ipu, own->gather_cycles);
    add_steps(work, true);
  }

  timetable table_;
  std::vector<pass_on_line> passes_;
  std::vector<std::int64_t> slot_cycles_;
  profile_time_line line_;
  activity last_;
  std::int64_t now_ = 0;
  std::int64_t hidden_host_ = 0,
               hidden_streaming_ = 0;  ///< cycles of a device's hidden transfers in a slot that are left
  int device_ = 0;
  int added_micro_batches_ = 0;
};

}  // namespace stagecraft::reports
