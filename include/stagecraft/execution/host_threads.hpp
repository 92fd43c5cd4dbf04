// SPDX-License-Identifier: BSD-3-Clause
// The threads that a session's steps are divided among. Level 5.
#pragma once

#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/kernels/flush_denormals.hpp>
#include <memory>

namespace stagecraft {

/// `Threads` threads, the calling one included. They keep their place when a session moves.
template <int Threads>
class host_threads {
 public:
  /// Calls `work(memory)` on each thread, with its own share and its own workspace of `workspace_floats` floats behind
  /// that of the thread before. Denormal numbers count as 0 meanwhile.
  template <class Work>
  void run(host_memory const& memory, [[maybe_unused]] long long workspace_floats, Work const& work) {
    if constexpr (Threads == 1) {
      kernels::flush_denormals const flush;
      work(memory);
    } else {
      auto on_thread = [&](int thread) {
        kernels::flush_denormals const flush;
        host_memory own = memory;
        own.workspace += thread * workspace_floats;
        own.share = {thread, Threads};
        own.team = team_.get();
        work(own);
      };
      team_->run(on_thread);
    }
  }

  /// Waits for the others, inside `run`. False if a step has failed, on any thread.
  static bool synchronize([[maybe_unused]] host_memory const& memory) {
    if constexpr (Threads > 1)
      return memory.team->synchronize();
    else
      return true;
  }

 private:
  std::unique_ptr<thread_team> team_ = Threads > 1 ? std::make_unique<thread_team>(Threads) : nullptr;
};

}  // namespace stagecraft
