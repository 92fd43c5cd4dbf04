// SPDX-License-Identifier: BSD-3-Clause
// The threads that work on one device together.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/threads/owned.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <type_traits>

namespace stagecraft::engine {

/// One of these threads, on its way through an execution.
struct device_thread {
  int worker = 0;                          ///< the number of the device's first thread among those of all devices
  sharing_team::member* member = nullptr;  ///< null: there are no others

  [[nodiscard]] int number() const { return member == nullptr ? 0 : member->thread(); }
  /// True for the first thread, which alone does the work that is not divided.
  [[nodiscard]] bool leads() const { return number() == 0; }
};

/// A team of at most `Threads` threads, the calling one included. All go through the same calls of `divide` and
/// `alone`; those that come late find out what has been done meanwhile. They keep their place when a session moves.
template <int Threads>
class device_threads {
 public:
  device_threads() = default;
  /// `busy_threads` counts those of all devices.
  device_threads([[maybe_unused]] int threads, [[maybe_unused]] int busy_threads) {
    if constexpr (Threads > 1) team_ = owned<sharing_team>(new sharing_team(threads, busy_threads));
  }

  /// Calls `work(thread)` here, and a copy of it on the other threads, which may still run, without a piece of the
  /// work, after this has returned. Returns what `work` has returned here or, if another thread has failed, false.
  /// Denormal numbers count as 0 meanwhile.
  template <class Work>
  bool run(int worker, Work const& work) {
    kernels::flush_denormals const flush;
    if constexpr (Threads == 1) {
      return work(device_thread{worker});
    } else {
      return team_->run(
          [&](sharing_team::member& self) {
            if (!work(device_thread{worker, &self})) self.give_up();
          },
          [worker, work](sharing_team::member& self) {
            kernels::flush_denormals const own_flush;
            work(device_thread{worker, &self});
          });
    }
  }

  // Inside `run`, where `memory` is that of a thread.

  /// Calls `part(memory)` for each share of the work, on any thread, and waits until all are done.
  template <class Part>
  static void divide(pass_memory const& memory, Part const& part) {
    if constexpr (Threads == 1)
      part(memory);
    else
      divide_work(memory, part);
  }

  /// Calls `work()` on the first thread, while the others wait. Returns false if there is nothing more to do, which
  /// `work` says by returning false.
  template <class Work>
  static bool alone([[maybe_unused]] pass_memory const& memory, Work const& work) {
    if constexpr (Threads == 1) {
      return is_done(work);
    } else {
      if (memory.member == nullptr) return is_done(work);
      memory.member->alone([&] {
        if (!is_done(work)) memory.member->give_up();
      });
      return goes_on(memory);
    }
  }

  /// False if a step has failed, on any thread; then there is nothing more to do.
  [[nodiscard]] static bool goes_on([[maybe_unused]] pass_memory const& memory) {
    if constexpr (Threads == 1)
      return true;
    else
      return memory.member == nullptr || !memory.member->failed();
  }

 private:
  template <class Work>
  static bool is_done(Work const& work) {
    if constexpr (std::is_void_v<decltype(work())>)
      return work(), true;
    else
      return work();
  }

  struct no_team {};
  [[no_unique_address]] std::conditional_t<(Threads > 1), owned<sharing_team>, no_team> team_;
};

}  // namespace stagecraft::engine
