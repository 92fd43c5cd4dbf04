// SPDX-License-Identifier: BSD-3-Clause
// The threads that a session's steps are divided among.
#pragma once

#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/simd/flush_denormals.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <memory>

namespace stagecraft {

/// `Threads` threads, the calling one included. They keep their place when a session moves.
template <int Threads>
class host_threads {
 public:
  /// Calls `lead(memory)` here and `help(memory)` on the others, as far as they come in time: each with its own
  /// workspace of `workspace_floats` floats behind that of the thread before. Both go through the same calls of
  /// `divide` and `alone`. `help` may be running still, without a piece of the work, when this has returned. Denormal
  /// numbers count as 0 meanwhile.
  template <class Lead>
  void run(host_memory const& memory, [[maybe_unused]] long long workspace_floats, Lead const& lead,
           [[maybe_unused]] void (*help)(host_memory const&)) {
    if constexpr (Threads == 1) {
      kernels::flush_denormals const flush;
      lead(memory);
    } else {
      team_->run([&](sharing_team::member& self) { on_thread(self, memory, workspace_floats, lead); },
                 [memory, workspace_floats, help](sharing_team::member& self) {
                   on_thread(self, memory, workspace_floats, help);
                 });
    }
  }

  /// Inside `run`: calls `part(memory)` for each share of the work, on any thread, and waits until all are done.
  template <class Part>
  static void divide(host_memory const& memory, Part const& part) {
    if constexpr (Threads == 1)
      part(memory);
    else
      detail::divide(memory, part);
  }

  /// Inside `run`: calls `work()` on the thread that has called it. The others wait.
  template <class Work>
  static void alone([[maybe_unused]] host_memory const& memory, Work const& work) {
    if constexpr (Threads == 1)
      work();
    else
      memory.member->alone(work);
  }

  /// Inside `run`: a step of an operation, which all threads have done or seen done afterwards.
  template <class Operation, class Step>
  static void step(host_memory const& memory, Step const& step) {
    if constexpr (detail::has_phases<Operation>)
      step(memory);
    else if constexpr (detail::divides_steps<Operation>)
      divide(memory, step);
    else
      alone(memory, [&] { step(memory); });
  }

  /// Inside `run`: false if a step has failed, on any thread; then there is nothing more to do.
  [[nodiscard]] static bool goes_on([[maybe_unused]] host_memory const& memory) {
    if constexpr (Threads == 1)
      return true;
    else
      return !memory.member->failed();
  }

 private:
  template <class Work>
  static void on_thread(sharing_team::member& self, host_memory const& memory, long long workspace_floats,
                        Work const& work) {
    kernels::flush_denormals const flush;
    host_memory own = memory;
    own.first_workspace = memory.workspace;
    own.workspace += self.thread() * workspace_floats;
    own.member = &self;
    work(own);
  }

  std::unique_ptr<sharing_team> team_ = Threads > 1 ? std::make_unique<sharing_team>(Threads) : nullptr;
};

}  // namespace stagecraft
