// SPDX-License-Identifier: BSD-3-Clause
// What a thread does in an execution: its devices' passes in the order of the timetable, and their weight updates.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/device_cursor.hpp>
#include <stagecraft/engine/pipeline_execution.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/pipeline_pass.hpp>
#include <stagecraft/engine/pipeline_update.hpp>
#include <stagecraft/engine/policy/device_threads.hpp>
#include <stagecraft/engine/trace.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::engine {

template <class Session>
class gradient_run;

/// Counts of the finished work of an execution.
struct execution_counts {
  std::int64_t updates = 0;
  std::int64_t micro_batches = 0;  ///< micro-batches of training of each replica
};

/// Called by each thread, `run(thread)`. Nothing that changes in an execution is looked at where a thread could come
/// late: see sharing_team::run.
template <class Session, execution_mode Mode>
class pipeline_run {
  using sizes = typename Session::sizes;
  using memory_type = typename Session::memory_type;
  using execution_type = pipeline_execution<Session>;
  using update = pipeline_update<sizes, typename Session::first_plan>;
  using replicas_type = std::array<memory_type*, static_cast<std::size_t>(sizes::replicas)>;

  static constexpr int replicas = sizes::replicas, devices = sizes::devices, workers = sizes::workers;
  static constexpr bool trains = Mode == execution_mode::training;
  static constexpr int accumulation_steps = sizes::options.accumulation_steps();
  static constexpr std::size_t passes = static_cast<std::size_t>(sizes::template table<Mode>().passes());
  /// Devices of one thread. Where processes may be fewer than they could be, a thread may have all of them.
  static constexpr bool is_alone = sizes::processes::is_alone;
  static constexpr std::size_t most_devices = !is_alone ? replicas * devices
                                              : workers <= replicas
                                                  ? (replicas + workers - 1) / workers * devices
                                                  : (devices + workers / replicas - 1) / (workers / replicas);
  static constexpr bool has_penalties = Session::has_losses && [] {
    for (auto const& parameter : Session::graph.parameters)
      if (!parameter.regularizer.empty()) return true;
    return false;
  }();

 public:
  pipeline_run(execution_type const& all, replicas_type const& memories, int steps, execution_counts& done)
      : all_(all), memories_(&memories), done_(&done), steps_(steps) {}

  /// False if another thread has failed.
  bool operator()(device_thread const& self) const {
    // The micro-batches of a weight update may be in several executions if there are no stages.
    int const round = !trains ? steps_ : sizes::stages == 1 ? 1 : accumulation_steps;
    if constexpr (sizes::stages == 1 && most_devices == 1) {
      return run_rounds(round, self, [&](int first) { return run_only_stage(first, round, self); });
    } else {
      timetable const table =
          trains && sizes::stages > 1
              ? sizes::template table<Mode>()
              : timetable(sizes::options.schedule, devices_of_stages<typename sizes::model>, round, trains);
      return run_rounds(round, self, [&](int first) { return run_passes(table, first, self); });
    }
  }

 private:
  friend class gradient_run<Session>;

  /// `passes_of(first)`, one round after the other, each but those of inference with its part of a weight update.
  template <class OfRound>
  bool run_rounds(int round, device_thread const& self, OfRound const& passes_of) const {
    bool knows_penalties = false;
    if constexpr (sizes::splits)
      if (!alone(self, [] { sizes::processes::begin_messages(); })) return false;
    for (int first = 0; first < steps_; first += round) {
      if constexpr (has_penalties)
        if (all_.has_targets && !knows_penalties && !find_penalties(self)) return false;
      knows_penalties = true;
      if (!passes_of(first)) return false;
      if constexpr (sizes::splits)
        if (!alone(self, [&] { end_messages(first + round); })) return false;
      if constexpr (trains) {
        bool const updates = (all_.accumulated + first + round) % accumulation_steps == 0;
        if (updates && !run_update(self, first + round)) return false;
        if (!updates) count(self, first + round);
        knows_penalties = !updates;
      }
    }
    return true;
  }

  /// The passes of a thread's only device, which has all of the model: one micro-batch after the other, in each its
  /// passes in their order, as the timetable of a single stage has them too.
  bool run_only_stage(int first, int round, device_thread const& self) const {
    return for_each_device(self.worker, [&](int replica, int) {
      return [&]<std::size_t... Pass>(std::index_sequence<Pass...>) {
        for (int i = first; i < first + round; ++i)
          if (!(pipeline_pass<Session, Mode, static_cast<int>(Pass)>::run(all_, *(*memories_)[replica], i, self) &&
                ...))
            return false;
        return true;
      }(std::make_index_sequence<passes>{});
    });
  }

  /// A device of a replica, and what it does next.
  struct replica_device {
    memory_type* replica = nullptr;
    device_cursor next;
  };
  struct pass_functions {
    bool (*is_ready)(memory_type const&, std::int64_t micro_batch);
    bool (*run)(execution_type const&, memory_type&, std::int64_t micro_batch, device_thread const&);
  };

  /// Several threads that work together take passes in one order, whatever each of them sees to be ready. They have
  /// only one device, or all of a process, where processes are fewer than they could be.
  static constexpr bool overtakes = most_devices > 1 && sizes::threads_of_device == 1;

  /// The passes of a thread's devices, each device's in its order: the earliest, or, while it has to wait, the earliest
  /// that need not.
  bool run_passes(timetable const& table, int first, device_thread const& self) const {
    static constexpr auto functions = list_passes(std::make_index_sequence<passes>{});
    std::array<replica_device, most_devices> devices_here;
    std::size_t count = 0;
    for_each_device(self.worker, [&](int replica, int device) {
      devices_here[count++] = {(*memories_)[replica], device_cursor(table, device)};
    });
    auto const functions_of = [](replica_device const& one) -> auto const& { return functions[one.next.pass()]; };
    auto const is_ready = [&](replica_device const& one) {
      return functions_of(one).is_ready(*one.replica, first + one.next.micro_batch());
    };
    for (;;) {
      replica_device* next = nullptr;
      for (std::size_t i = 0; i < count; ++i)
        if (!devices_here[i].next.at_end() && (next == nullptr || devices_here[i].next.slot() < next->next.slot()))
          next = &devices_here[i];
      if (next == nullptr) return true;
      // If none is ready, it waits for the earliest; that cannot last, since the earliest of all threads' is ready.
      if (overtakes && all_.team != nullptr && !is_ready(*next)) {
        replica_device* other = nullptr;
        for (std::size_t i = 0; i < count; ++i)
          if (auto const& cursor = devices_here[i].next; !cursor.at_end() && may_overtake(table, cursor.pass()) &&
                                                         (other == nullptr || cursor.slot() < other->next.slot()) &&
                                                         is_ready(devices_here[i]))
            other = &devices_here[i];
        if (other != nullptr) next = other;
      }
      if (!functions_of(*next).run(all_, *next->replica, first + next->next.micro_batch(), self)) return false;
      next->next.advance();
    }
  }

  /// Queues that `feed` and `results` use may stop a replica until others have come as far: those calls keep to slots.
  static bool may_overtake(timetable const& table, int pass) {
    return replicas == 1 || (pass != table.forward_pass(0) && pass != table.forward_pass(table.stages() - 1));
  }

  /// All devices are ready before the first one changes a weight, and have changed theirs before the next pass.
  bool run_update(device_thread const& self, int micro_batches) const {
    if (!synchronize(self)) return false;
    auto const number = (all_.accumulated + micro_batches) / accumulation_steps;
    auto const begin = all_.record != nullptr ? trace::now() : 0;
    auto const each = [&](auto const& part) {
      return for_each_device(self.worker,
                             [&](int replica, int device) { return part(job(replica, device, number), self); });
    };
    if constexpr (update::sums_apart)
      if (!each(update::sum_calls)) return false;
    if constexpr (replicas > 1 && !sizes::splits)
      if (!synchronize(self) || !each(update::reduce) || !synchronize(self)) return false;
    if constexpr (!is_alone && replicas > 1)
      if (!exchange(self) || !synchronize(self)) return false;
    // A shard of a weight is no weight: its functions wait for all.
    if constexpr (have_penalty_gradients<typename Session::first_plan>)
      if (!each(update::add_penalty_gradients) || !synchronize(self)) return false;
    if (!find_norms<0>(each, self)) return false;
    if constexpr (update::has_work())
      if (!each(update::apply)) return false;
    if constexpr (!is_alone && replicas > 1 && update::shards)
      if (!synchronize(self) || !alone_of_all(self, [this] { update::gather_weights(*memories_); })) return false;
    if constexpr (have_constraints<typename Session::first_plan>)
      if (!synchronize(self) || !each(update::constrain)) return false;
    if (sizes::scales_losses && !each(update::advance_loss_scale)) return false;
    if (all_.record != nullptr && self.leads())
      for_each_device(self.worker, [&](int replica, int device) {
        all_.record->record({.replica = (*memories_)[replica]->replica,
                             .device = device,
                             .worker = self.worker,
                             .kind = pass_kind::weight_update,
                             .begin_ns = begin,
                             .end_ns = trace::now()});
      });
    count(self, micro_batches);
    return synchronize(self);
  }
  /// The first thread exchanges the sums of this process's replicas for those of all, while the others wait.
  bool exchange(device_thread const& self) const {
    return alone_of_all(self, [this] { update::exchange(*memories_); });
  }
  template <class Work>
  static bool alone_of_all(device_thread const& self, Work const& work) {
    return self.worker > 0 || alone(self, work);
  }
  /// Carries out `work` on the first of the threads that work together.
  template <class Work>
  static bool alone(device_thread const& self, Work const& work) {
    return device_threads<sizes::threads_of_device>::alone({{}, {}, {}, {.member = self.member}}, work);
  }
  /// The messages of a round have come, and have left.
  void end_messages(int micro_batches) const {
    for (int i = 0; i < sizes::replicas_here(); ++i)
      sizes::processes::template messages<sizes, Mode, 0>::end_round(*(*memories_)[i], micro_batches);
    sizes::processes::end_messages();
  }
  /// Finds the sums that the norms of this round and of later ones need.
  template <int Round, class EachDevice>
  bool find_norms([[maybe_unused]] EachDevice const& each, [[maybe_unused]] device_thread const& self) const {
    if constexpr (Round < update::norm_rounds) {
      if (!each(update::template add_squares<Round>)) return false;
      if (update::template waits_for_norms<Round> && !synchronize(self)) return false;
      if constexpr (update::template waits_for_norms<Round> && sizes::splits)
        if (!alone(self, [this] { update::share_norms(*memories_); })) return false;
      if constexpr (update::template waits_for_norms<Round> && !is_alone && replicas > 1 && update::shards)
        if (!alone_of_all(self, [this] { update::share_norms_of_shards(*memories_); }) || !synchronize(self))
          return false;
      return find_norms<Round + 1>(each, self);
    }
    return true;
  }
  void count(device_thread const& self, int micro_batches) const {
    if (self.worker == 0 && self.leads())
      *done_ = {.updates = (all_.accumulated + micro_batches) / accumulation_steps, .micro_batches = micro_batches};
  }

  /// Each device those of its weights, for the last one's losses.
  bool find_penalties(device_thread const& self) const {
    return for_each_device(
               self.worker,
               [&](int replica, int device) { return update::find_penalties(job(replica, device, 0), self); }) &&
           synchronize(self) && (!sizes::splits || alone(self, [this] { share_penalties(); }));
  }

  void share_penalties() const {
    if constexpr (sizes::splits) update::share_penalties(*memories_);
  }

  /// The weight update with this number in the execution, from 1.
  [[nodiscard]] typename update::job job(int replica, int device, std::int64_t number) const {
    return {*memories_, replica, device, all_.updates + number, all_.seed, all_.learning_rate};
  }

  /// Devices wait for each other: their first threads do, and the others for those.
  bool synchronize([[maybe_unused]] device_thread const& self) const {
    if constexpr (workers == 1)
      return true;
    else
      return alone(self, [this] { return all_.team->synchronize(); });
  }

  /// Calls each(replica, device) for the devices of a thread, until it returns false: all of some replicas, or some of
  /// one. A thread with parts of two replicas could wait in one's `feed` or `results` for the other, which waits for
  /// it. Replicas are numbered within the process.
  template <class Each>
  static bool for_each_device(int worker, Each const& each) {
    auto const here = sizes::replicas_here();
    auto const goes_on = [&](int replica, int device) {
      if constexpr (std::is_void_v<decltype(each(0, 0))>)
        return each(replica, device), true;
      else
        return each(replica, device);
    };
    if (workers <= here) {
      for (int replica = worker * here / workers; replica < (worker + 1) * here / workers; ++replica)
        for (int device = 0; device < devices; ++device)
          if (sizes::is_here(sizes::first_replica() + replica, device) && !goes_on(replica, device)) return false;
    } else {
      int replica = 0;
      while ((replica + 1) * workers / here <= worker) ++replica;
      int const first = replica * workers / here, count = (replica + 1) * workers / here - first;
      for (int device = (worker - first) * devices / count; device < (worker - first + 1) * devices / count; ++device)
        if (!goes_on(replica, device)) return false;
    }
    return true;
  }

  template <std::size_t... Pass>
  static constexpr auto list_passes(std::index_sequence<Pass...>) {
    return std::array{pass_functions{&pipeline_pass<Session, Mode, static_cast<int>(Pass)>::is_ready,
                                     &pipeline_pass<Session, Mode, static_cast<int>(Pass)>::run}...};
  }

  execution_type all_;
  replicas_type const* memories_;
  execution_counts* done_;
  int steps_;
};

}  // namespace stagecraft::engine
