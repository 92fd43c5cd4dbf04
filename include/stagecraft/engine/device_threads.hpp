// SPDX-License-Identifier: BSD-3-Clause
// The threads that work on one device together.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/threads/owned.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <type_traits>

namespace stagecraft::engine {

/// One of them, on its way through an execution.
struct device_thread {
  int worker = 0;                          ///< the number of the device's first thread among those of all devices
  sharing_team::member* member = nullptr;  ///< null: there are no others

  [[nodiscard]] int number() const { return member == nullptr ? 0 : member->thread(); }
  /// Whether it is the first one, which alone does what is not divided.
  [[nodiscard]] bool leads() const { return number() == 0; }
};

/// At most `Threads`, the calling one included. All go through the same calls of `divide`, `alone` and `step`; those
/// that come late find out what has been done meanwhile. They keep their place when a session moves.
template <int Threads>
class device_threads {
 public:
  device_threads() = default;
  /// `busy_threads` of all devices.
  device_threads([[maybe_unused]] int threads, [[maybe_unused]] int busy_threads) {
    if constexpr (Threads > 1) team_ = owned<sharing_team>(new sharing_team(threads, busy_threads));
  }

  /// Calls `work(thread)` here, and a copy of it on the others, which may be running still, without a piece of the
  /// work, when this has returned. False if the work has come to nothing: then it has returned false. Denormal numbers
  /// count as 0 meanwhile.
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
  static void divide(host_memory const& memory, Part const& part) {
    if constexpr (Threads == 1)
      part(memory);
    else
      cpu::divide(memory, part);
  }

  /// Calls `work()` on the first thread. The others wait. Gives false if there is nothing more to do, which `work` says
  /// by returning false.
  template <class Work>
  static bool alone([[maybe_unused]] host_memory const& memory, Work const& work) {
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

  /// A step of an operation, which all threads have done or seen done afterwards.
  template <class Operation, class Step>
  static void step(host_memory const& memory, Step const& step) {
    if constexpr (Threads == 1 || has_phases<Operation>)
      step(memory);
    else if constexpr (divides_steps<Operation>)
      divide(memory, step);
    else
      alone(memory, [&] { step(memory); });
  }

  /// False if a step has failed, on any thread; then there is nothing more to do.
  [[nodiscard]] static bool goes_on([[maybe_unused]] host_memory const& memory) {
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
